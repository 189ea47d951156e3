local hs = {status = "Progressing", message = "waiting for Kueue"}
for _, condition in ipairs((obj.status or {}).conditions or {}) do
  if condition.type == "Active" then
    hs.message = condition.message or ""
    if condition.status == "True" then
      hs.status = "Healthy"
    elseif condition.reason == "Stopped" then
      hs.status = "Suspended"
    else
      hs.status = "Degraded"
    end
  end
end
return hs
