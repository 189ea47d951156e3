hs = {status = "Progressing", message = "waiting for Rook"}
local status = obj.status or {}
if status.phase ~= nil then
  hs.message = status.phase
  if status.phase == "Ready" then
    hs.status = "Healthy"
  elseif status.phase == "Failure" or status.phase == "ReconcileFailed" then
    hs.status = "Degraded"
  end
end
return hs
