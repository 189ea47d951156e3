"""Whether Argo CD's projects let Applications do what they must."""

from validation.build import ROOT, Built, Object, told

__all__ = ["forbidden"]


def forbidden(built: Built) -> list[str]:
    """Return objects that an Application holds and its project refuses: one is enough to stop a whole sync."""
    projects = {one["metadata"]["name"]: one["spec"] for _, one in built.of("AppProject")}
    found = []
    for application in built.objects[ROOT]:
        if application["kind"] == "Application":
            project = projects[application["spec"]["project"]]
            found += [f"{told(ROOT, application)}: {why}" for why in refusals(application, project, built)]
    return found


def refusals(application: Object, project: Object, built: Built) -> list[str]:
    """Return why a project refuses an Application's source, place or objects."""
    spec, name = application["spec"], application["metadata"]["name"]
    found = []
    if spec["source"]["repoURL"] not in project["sourceRepos"]:
        found.append(f"repository {spec['source']['repoURL']} is not allowed")
    spaces = {
        place["namespace"] for place in project["destinations"] if place["server"] == spec["destination"]["server"]
    }
    wanted = {spec["destination"]["namespace"]}
    wanted |= {chart["namespace"] for (component, _), chart in built.charts.items() if component == name}
    for one in built.objects.get(name, ()):
        group = one["apiVersion"].rpartition("/")[0]
        kind = {"group": group, "kind": one["kind"]}
        if "namespace" not in one["metadata"]:
            allowed = project.get("clusterResourceWhitelist", ())
        else:
            wanted.add(one["metadata"]["namespace"])
            allowed = project.get("namespaceResourceWhitelist", (kind,))
        if kind not in allowed or kind in project.get("namespaceResourceBlacklist", ()):
            found.append(f"{told(name, one)} is of a kind that is not allowed")
    return found + [f"namespace {space} is not allowed" for space in sorted(wanted - spaces)]
