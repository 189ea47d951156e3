hs = {status = "Progressing", message = "waiting for the network operator"}
if obj.status ~= nil and obj.status.state ~= nil then
  hs.message = "state " .. obj.status.state
  if obj.status.state == "ready" then
    hs.status = "Healthy"
  elseif obj.status.state == "error" or obj.status.state == "ignore" then
    hs.status = "Degraded"
  end
  if obj.status.reason ~= nil and obj.status.reason ~= "" then
    hs.message = hs.message .. ": " .. obj.status.reason
  end
end
return hs
