"""The way to a cluster's operations through Argo's own server (Argo Workflows v4.0)."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from generator.components.argo_workflows import VERSIONS
from generator.components.component import Manifest
from generator.day2.workflows.argo_connection import ArgoConnection
from generator.day2.workflows.ways import MAIN, PodLog, Way
from generator.errors import UsageError
from generator.live.running import RefusedError
from generator.model.cluster import Cluster
from generator.model.fields import dig, sequence

LATE = 60
"""Seconds by which what a pod prints may be told late: that long its server may not know that it runs."""


class ThroughArgoServer(Way):
    """The way through Argo's server."""

    def __init__(self, connection: ArgoConnection) -> None:
        self._connection, self._ask = connection, connection.ask
        self._looked: dict[str, float] = {}

    @property
    def host(self) -> str:
        """The address of Argo's server."""
        return self._connection.host

    def ready(self) -> bool:
        """Tell whether the server answers, and Kubernetes' API server behind it."""
        try:
            self.version()
        except UsageError:
            return False
        return True

    def version(self) -> str:
        """Return the version that the server says. Raises UsageError for what is no server of Argo's."""
        from argo_workflows.api.info_service_api import InfoServiceApi  # noqa: PLC0415 - heavy

        ask = InfoServiceApi(self._connection.client).get_version
        found = str(dig(self._ask("read its version", ask), "version"))
        if not re.match(r"v?\d+\.\d+\.", found):
            self._connection.foreign(f"that its version is {found}")
        return found

    def confirm(self, cluster: Cluster) -> None:
        """Raise UsageError unless the server is of the Argo Workflows that a cluster's operations are written for."""
        found, wanted = self.version(), VERSIONS.of(cluster).version
        if found.lstrip("v").split(".")[0] != wanted.lstrip("v").split(".")[0]:
            raise UsageError(
                f"{self.host} is a server of Argo Workflows {found}, and {cluster.name}'s operations are written for "
                f"{wanted}: name the server that belongs to its controller, or leave --argo-server out"
            )

    def templates(self, namespace: str) -> Iterator[Manifest]:
        """Yield the WorkflowTemplates of a namespace."""
        what = f"list the templates of {namespace}"
        return self._items(what, self._of_templates().list_workflow_templates, namespace)

    def template(self, namespace: str, name: str) -> Manifest | None:
        """Return a WorkflowTemplate; None where there is none."""
        return self._ask(f"read the template {name}", self._of_templates().get_workflow_template, namespace, name)

    def schedules(self, namespace: str) -> Iterator[Manifest]:
        """Yield the CronWorkflows of a namespace."""
        from argo_workflows.api.cron_workflow_service_api import CronWorkflowServiceApi  # noqa: PLC0415 - heavy

        ask = CronWorkflowServiceApi(self._connection.client).list_cron_workflows
        return self._items(f"list the schedules of {namespace}", ask, namespace)

    def runs(self, namespace: str) -> Iterator[Manifest]:
        """Yield the Workflows of a namespace, also those that the server keeps in an archive."""
        return self._items(f"list the runs of {namespace}", self._of_runs().list_workflows, namespace)

    def run(self, namespace: str, name: str) -> Manifest | None:
        """Return a Workflow; None where there is none."""
        return self._ask(f"read the run {name}", self._of_runs().get_workflow, namespace, name)

    def create(self, workflow: Manifest, *, dry_run: bool) -> Manifest:
        """Create a Workflow, or with `dry_run` let the server and Kubernetes' API server judge it."""
        space, ask = workflow["metadata"]["namespace"], self._of_runs().create_workflow
        body = _body("WorkflowCreateRequest", workflow=workflow, server_dry_run=dry_run)
        return self._there(self._ask("begin a run", ask, space, body), f"namespace {space}")

    def shut_down(self, namespace: str, name: str, *, terminate: bool) -> None:
        """Ask a Workflow to stop; with `terminate` its exit handler does not run."""
        runs, verb = self._of_runs(), "Terminate" if terminate else "Stop"
        ask = runs.terminate_workflow if terminate else runs.stop_workflow
        body = _body(f"Workflow{verb}Request", name=name, namespace=namespace)
        self._there(self._ask(f"stop the run {name}", ask, namespace, name, body), f"the run {name}")

    def printed(self, namespace: str, name: str, seen: Mapping[str, datetime]) -> Iterator[PodLog]:
        """Yield what the pods of a Workflow printed. The server tells of all pods at once: after the first look of what
        was printed since, and of some seconds before that.
        """
        options: dict[str, object] = {"log_options_container": MAIN, "log_options_timestamps": True}
        if seen and name in self._looked:
            since = int(time.monotonic() - self._looked[name]) + LATE
            options["log_options_since_seconds"] = str(since)
        now, pods = time.monotonic(), dict[str, list[str]]()
        ask = self._of_runs().workflow_logs
        for one in self._connection.told(f"read the logs of {name}", ask, namespace, name, **options):
            if error := dig(one, "error", "message"):
                raise RefusedError(f"{self.host} refuses to go on with the logs: {' '.join(str(error).split())}")
            pods.setdefault(str(dig(one, "result", "podName")), []).append(str(dig(one, "result", "content") or ""))
        self._looked[name] = now
        for pod, lines in pods.items():
            yield PodLog(pod, _step(name, pod), tuple(lines))

    def _of_runs(self) -> Any:
        from argo_workflows.api.workflow_service_api import WorkflowServiceApi  # noqa: PLC0415 - heavy

        return WorkflowServiceApi(self._connection.client)

    def _of_templates(self) -> Any:
        from argo_workflows.api.workflow_template_service_api import WorkflowTemplateServiceApi  # noqa: PLC0415 - heavy

        return WorkflowTemplateServiceApi(self._connection.client)

    def _items(self, what: str, ask: Callable[..., Any], namespace: str) -> Iterator[Manifest]:
        yield from sequence(dig(self._ask(what, ask, namespace), "items"))

    def _there(self, found: Manifest | None, what: str) -> Manifest:
        if found is None:
            raise RefusedError(f"{self.host} does not find {what} (any more)")
        return found


def _body(kind: str, **fields: object) -> Any:
    """Return what is asked for, in a type of the client that is not held against its models. Plain objects it takes
    only with `_check_input_type=False`, and then wants a server by its number, of which it knows one: localhost.
    """
    from argo_workflows import models  # noqa: PLC0415 - heavy

    return getattr(models, f"IoArgoprojWorkflowV1alpha1{kind}")(**fields, _check_type=False)


def _step(run: str, pod: str) -> str:
    """Return the id of the step whose pod has a name: both end in one hash (v4.0: `workflow/util/pod_name.go`)."""
    return run if pod == run else f"{run}-{pod.rpartition('-')[2]}"
