-- Health of a child Application, for the waves of its parent: healthy only when this very spec has been applied.
local hs = {status = "Progressing", message = "waiting for status"}
local st = obj.status
if st == nil or st.health == nil or st.sync == nil then return hs end

-- On an update the old verdict stands until the controller has looked at the new spec. Only what is always written
-- out is compared: defaults could make the whole differ for ever.
local source = obj.spec.source
local compared = st.sync.comparedTo
if source ~= nil then
  local seen = compared ~= nil and compared.source or nil
  if seen == nil or seen.repoURL ~= source.repoURL or seen.path ~= source.path
    or seen.targetRevision ~= source.targetRevision then
    hs.message = "status is for an older spec"
    return hs
  end
end

local operation = st.operationState
if operation ~= nil and (operation.phase == "Failed" or operation.phase == "Error") then
  return {status = "Degraded", message = operation.message or "sync failed"}
end
if operation ~= nil and operation.phase ~= "Succeeded" then
  hs.message = operation.message or "syncing"
  return hs
end
-- A resource that failed to apply is left out of the child's own health, but not out of its sync status.
if st.sync.status ~= "Synced" then
  hs.message = "sync status " .. tostring(st.sync.status)
  return hs
end
-- Missing and Unknown would be left out of the parent's health.
if st.health.status == nil or st.health.status == "Missing" or st.health.status == "Unknown" then
  hs.message = st.health.message or "health not known"
  return hs
end
return {status = st.health.status, message = st.health.message or ""}
