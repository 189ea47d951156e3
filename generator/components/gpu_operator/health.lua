hs = {status = "Progressing", message = "waiting for the GPU operator"}
if obj.status ~= nil and obj.status.state ~= nil then
  hs.message = "state " .. obj.status.state
  if obj.status.state == "ready" then
    hs.status = "Healthy"
  elseif obj.status.state == "ignored" then
    hs.status = "Degraded"
  end
end
return hs
