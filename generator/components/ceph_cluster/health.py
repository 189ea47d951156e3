"""How Argo CD tells that Ceph is well. It loads only the base and table libraries of Lua."""

from generator.components.component import Health

# Argo CD's own check calls HEALTH_WARN degraded, and a new cluster warns for minutes: later waves would never start
# (facts: storage 12). Ours lets warnings pass and shows them.
CLUSTER = """\
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
"""

PHASE = """\
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
"""

HEALTH = (
    Health("ceph.rook.io", "CephCluster", CLUSTER),
    Health("ceph.rook.io", "CephBlockPool", PHASE),
    Health("ceph.rook.io", "CephFilesystem", PHASE),
    Health("ceph.rook.io", "CephFilesystemSubVolumeGroup", PHASE),
    Health("ceph.rook.io", "CephObjectStoreUser", PHASE),
)
"""Argo CD itself knows CephObjectStore and ObjectBucketClaim since 3.3."""
