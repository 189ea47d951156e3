hs = {status = "Progressing", message = "waiting for Rook"}
local status = obj.status or {}
local ceph = status.ceph or {}
local details = {}
for code, detail in pairs(ceph.details or {}) do
  table.insert(details, code .. ": " .. (detail.message or ""))
end
table.sort(details)
local told = table.concat(details, "; ")
if status.state == "Error" or status.phase == "Failure" then
  hs.status = "Degraded"
  hs.message = status.message or "Rook failed"
elseif ceph.health == "HEALTH_ERR" then
  hs.status = "Degraded"
  hs.message = "HEALTH_ERR " .. told
elseif status.state == "Created" or status.state == "Connected" then
  if ceph.health == "HEALTH_OK" or ceph.health == "HEALTH_WARN" then
    hs.status = "Healthy"
    hs.message = ceph.health .. " " .. told
  end
elseif status.message ~= nil then
  hs.message = status.message
end
return hs
