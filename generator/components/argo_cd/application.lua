-- Health of a child Application, for the waves of its parent: healthy only when this very spec has been applied. A wave
-- goes on when all in it is healthy, and fails when something in it is degraded: only then does the parent read Git anew.
-- So nothing may be progressing for ever.
local os = require("os")
local RETRIES = 5 -- with the pauses between them some five minutes
local PATIENCE = 30 * 60 -- seconds: the longest installation that goes well, Ceph's, takes less
local UNREADABLE = 5 * 60 -- seconds that a Git server or a project may be in the way

local function verdict(status, message) return {status = status, message = message or ""} end

local function waiting(message, since, patience)
  -- Argo CD's `os.date` writes a given time in the zone of its container, whatever is asked: so there and back.
  local limit = os.date("%Y-%m-%dT%H:%M:%SZ", os.time(os.date("!*t")) - (patience or PATIENCE))
  if since ~= nil and since < limit then
    return verdict("Degraded", message .. " since " .. since)
  end
  return verdict("Progressing", message)
end

-- When the parent last changed it: a server-side apply that changes nothing keeps its time. What the parent did not
-- touch, it does not wait for.
local function applied()
  for _, entry in ipairs(obj.metadata.managedFields or {}) do
    if entry.manager == "argocd-controller" and entry.operation == "Apply" then return entry.time end
  end
end

-- Since when something is out of sync with nobody at work on it; nil for drift that began later.
local function unsynced_since(operation)
  if operation == nil then return applied() or obj.metadata.creationTimestamp end
  local changed, ended = applied(), operation.finishedAt
  if changed ~= nil and ended ~= nil and ended < changed then return changed end
  -- Where Argo CD syncs by itself, it does so anew without end: the count of that is what tells.
  local last = (operation.syncResult or {}).revision
  local automated = (obj.spec.syncPolicy or {}).automated
  if automated == nil and last ~= nil and last == obj.status.sync.revision then return ended end
end

local function own_health()
  local st = obj.status
  if st == nil or st.health == nil or st.sync == nil then
    return waiting("waiting for status", obj.metadata.creationTimestamp)
  end

  -- What cannot be built, or what its project refuses, has no verdict, and may never be compared.
  if st.health.status == "Unknown" then
    local condition = (st.conditions or {})[1] or {}
    return waiting(condition.message or "health not known", st.health.lastTransitionTime, UNREADABLE)
  end

  -- On an update the old verdict stands until the controller has looked at the new spec. Only what is always written
  -- out is compared: defaults could make the whole differ for ever.
  local source = obj.spec.source
  local compared = st.sync.comparedTo
  if source ~= nil then
    local seen = compared ~= nil and compared.source or nil
    if seen == nil or seen.repoURL ~= source.repoURL or seen.path ~= source.path
      or seen.targetRevision ~= source.targetRevision then
      return waiting("status is for an older spec", applied())
    end
  end

  local operation = st.operationState
  if operation ~= nil and (operation.phase == "Failed" or operation.phase == "Error") then
    return verdict("Degraded", operation.message or "sync failed")
  end
  if operation ~= nil and operation.phase ~= "Succeeded" then
    -- Argo CD tries again for ever, and calls that running.
    if (operation.retryCount or 0) >= RETRIES then return verdict("Degraded", operation.message) end
    return waiting(operation.message or "syncing", operation.startedAt)
  end
  -- A resource that failed to apply is left out of the child's own health, but not out of its sync status.
  if st.sync.status ~= "Synced" then
    local message = "sync status " .. tostring(st.sync.status)
    local asked = operation ~= nil and (operation.operation or {}).sync or {}
    if (asked.autoHealAttemptsCount or 0) >= RETRIES then
      return verdict("Degraded", message .. ": it differs again after each sync")
    end
    return waiting(message, unsynced_since(operation))
  end
  -- Missing would be left out of the parent's health.
  local health = st.health.status
  if health == nil or health == "Missing" or health == "Progressing" then
    return waiting(st.health.message or "health " .. tostring(health), st.health.lastTransitionTime)
  end
  return verdict(health, st.health.message)
end

local found = own_health()
local annotations = obj.metadata.annotations or {}
if annotations["argocd.argoproj.io/ignore-healthcheck"] == "true" and found.status ~= "Healthy" then
  return verdict("Healthy", "nothing waits for this; its own health is " .. found.status .. ": " .. found.message)
end
return found
