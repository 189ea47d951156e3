"""A field for an image whose text is no reference is told, unless the object itself says what it becomes."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from manifests import deployment, manifest, workload

from generator.build.unreadable_images import named_images, unreadable_images

DIGEST = f"sha256:{'a' * 64}"
ARGO = "argoproj.io/v1alpha1"


def unclear(one: Any) -> dict[str, bool]:
    """Return the texts that cannot be read, and whether they are mistakes."""
    return {field.text: field.wrong for field in unreadable_images(one)}


def images(one: Any) -> list[str]:
    return sorted({field.image for field in named_images(one)})


def custom(**spec: Any) -> Any:
    return manifest("Thing", "example.org/v1", spec=spec)


def workflow(*templates: Any, **spec: Any) -> Any:
    return manifest("WorkflowTemplate", ARGO, spec={"templates": list(templates), **spec})


def template(image: str, name: str = "run", **parameter: Any) -> Any:
    return {"name": name, "inputs": {"parameters": [{"name": "x", **parameter}]}, "container": {"image": image}}


def caller(value: Any, name: str = "main", **more: Any) -> Any:
    given = {"name": "x", **more} if value is None else {"name": "x", "value": value}
    return {"name": name, "steps": [[{"name": "go", "template": "run", "arguments": {"parameters": [given]}}]]}


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("${IMG}", "write the image itself: nothing replaces a variable here"),
        ("$(IMG)", "write the image itself: nothing replaces a variable here"),
        ("{{inputs.parameters.x}}", "write the image itself: nothing replaces a variable here"),
        ("Docker.io/library/nginx:1.27.1", "in lower case: docker.io/library/nginx:1.27.1"),
        ("quay.io/Some/App:V1", "in lower case: quay.io/some/app:V1"),
        ("example.org/x@sha256:abc", "a digest is sha256: and 64 hexadecimal digits"),
        ("example.org/x:1@sha512:", "a digest is sha256: and 64 hexadecimal digits"),
        ("@sha512:", "a digest is sha256: and 64 hexadecimal digits"),
        ("example.org/x:1 ", "registry/path:tag, without spaces"),
        ("https://example.org/x:1", "registry/path:tag, without spaces"),
        ("x" * 600 + " ", "registry/path:tag, without spaces"),
        ("", "name one: registry/path:tag"),
    ],
)
def test_a_pods_image_that_is_none_is_a_mistake(text: str, fix: str) -> None:
    (field,) = unreadable_images(deployment(image=text))
    assert (field.text, field.wrong, field.fix) == (text, True, fix)
    assert field.path == ("spec", "template", "spec", "containers", 0, "image")


@pytest.mark.parametrize(
    "text",
    [
        "nginx", "nginx:1.29.1", f"nginx@{DIGEST}", f"example.org:5000/a/b_c:1.0-@{DIGEST}", "localhost/a:1", "a:1.0.",
        f"a:{'t' * 128}",
    ],
)  # fmt: skip
def test_a_reference_is_read(text: str) -> None:
    assert unclear(deployment(image=text)) == {}


@pytest.mark.parametrize("kind", ["initContainers", "ephemeralContainers", "sidecars"])
def test_every_kind_of_container_is_looked_at(kind: str) -> None:
    containers: Any = {kind: [{"image": "${A}"}]}
    assert unclear(workload(**containers)) == {"${A}": True}
    assert unclear(custom(**containers)) == {"${A}": False}
    containers = {kind: [{"image": "A B"}]}
    assert unclear(custom(**containers)) == {"A B": True}
    volume = {"name": "v", "image": {"reference": "${B}"}}
    assert unclear(workload(volumes=[volume])) == {"${B}": True}


def test_containers_and_fields_of_custom_objects_are_looked_at() -> None:
    pods = {"template": {"spec": {"containers": [{"image": "A B"}, {"image": "{{.Image}}"}]}}}
    assert unclear(custom(**pods)) == {"A B": True, "{{.Image}}": False}
    assert unclear(custom(image="A B", helperImage="C D")) == {"A B": False, "C D": False}
    assert unclear(custom(x={"repository": "Evil.io/x", "tag": "1"})) == {"Evil.io/x": False}
    assert unclear(custom(x={"repository": "https://example.org/charts", "tag": "1"})) == {}
    assert unclear(custom(logoImage="https://example.org/x.png")) == {}
    assert unclear(custom(x={"enabled": False, "image": "A B"})) == {}
    assert unclear(custom(image="", helperImage="", x={"repository": "", "tag": "1"})) == {}
    assert unclear(custom(template={"spec": {"containers": [{"image": ""}]}})) == {"": True}
    assert unclear(custom(rbd={"image": "A B"})) == {}


@pytest.mark.parametrize(
    ("container", "text"),
    [
        ({"env": [{"name": "RUNNER_IMAGE", "value": "$(REG)/runner:1"}]}, "$(REG)/runner:1"),
        ({"args": ["--x", "--helper-image=$(REG)/b --y"]}, "$(REG)/b"),
        ({"args": ["--helper-image", "${REG}/b"]}, "${REG}/b"),
        ({"command": ["sh", "-c", "run --image {{ .Reg }}/b:{{ .Tag }} -it"]}, "{{ .Reg }}/b:{{ .Tag }}"),
        ({"args": ["X_IMAGE='${REG}/b'"]}, "${REG}/b"),
    ],
)
def test_a_variable_in_what_a_container_is_told_is_open_and_no_mistake(container: Any, text: str) -> None:
    (field,) = unreadable_images(deployment(**container))
    assert (field.text, field.wrong, field.fix.endswith("write the image itself")) == (text, False, True)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"pod.yaml": "containers:\n- image: $(REG)/a:1\n- image: {{ .Image }}\n"}, ["$(REG)/a:1", "{{ .Image }}"]),
        ({"x.json": '{"image":"${A}/b","sidecarImage": "b/c"}'}, ["${A}/b"]),
        ({"HELPER_IMAGE": "${REG}/a"}, ["${REG}/a"]),
        ({"run.sh": "run --image=${IMG} ${X}\n"}, ["${IMG}"]),
    ],
)
def test_a_variable_for_an_image_in_a_file_is_open(data: Any, expected: list[str]) -> None:
    assert unclear(manifest("ConfigMap", data=data)) == dict.fromkeys(expected, False)
    assert unclear(manifest("Secret", stringData=data)) == dict.fromkeys(expected, False)


@pytest.mark.parametrize(
    "one",
    [
        deployment(env=[{"name": "REG", "value": "$(HOST)/x"}, {"name": "A_IMAGE", "value": "a/b"}]),
        deployment(args=["--x=$(REG)/b", "$(IMG)", "--image=a/b:1 $(X)"]),
        deployment(args=["the image $(X)"]),
        custom(description="image: ${X}", names=["X_IMAGE=${Y}"]),
        manifest("ConfigMap", data={"x": r'{"expr": "x{image=\"${image}\", image!=\"\"}", "legend": "{{image}}"}'}),
        manifest("ConfigMap", data={"x": "image_url: '{{ .X }}'\nimages: ${X}\nimagePullPolicy: ${Y}\nimage: a/b:1\n"}),
        workflow({"name": "a", "steps": [[{"arguments": {"parameters": [{"name": "image", "value": "{{item}}"}]}}]]}),
    ],
)
def test_a_variable_for_something_else_is_not_told(one: Any) -> None:
    assert unclear(one) == {}


@pytest.mark.parametrize("part", ["$(", "{{", "${", "image: $(X) ", "image: "])
def test_a_long_file_takes_no_longer_than_its_length(part: str) -> None:
    one = manifest("ConfigMap", data={"x": f"image: $({part * 50_000}"})
    start = time.process_time()
    assert all(not field.wrong for field in unreadable_images(one))
    assert time.process_time() - start < 2


def test_a_parameter_in_a_variable_is_what_the_workflow_gives_it() -> None:
    env = [{"name": "A_IMAGE", "value": "evil.example.org/{{inputs.parameters.x}}:1"}]
    one = template("a/b:1", default="a")
    one["container"] |= {"env": env, "args": ["--b-image={{inputs.parameters.x}}/b"]}
    assert images(workflow(one)) == ["docker.io/a/b:1", "docker.io/a/b:latest", "evil.example.org/a:1"]
    assert unclear(workflow(one)) == {}


def test_what_is_no_object_with_images_is_left_out() -> None:
    assert unclear(manifest("ConfigMap", data={"image": "A B"})) == {}
    assert unclear(manifest("CustomResourceDefinition", "apiextensions.k8s.io/v1", spec={"image": "A B"})) == {}


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (workflow(template("evil.example.org/{{inputs.parameters.x}}:1", default="a")), ["evil.example.org/a:1"]),
        (workflow(template("{{inputs.parameters.x}}", value="a/b:1")), ["docker.io/a/b:1"]),
        (workflow(template("a/b:{{ inputs.parameters.x }}", value=3)), ["docker.io/a/b:3"]),
        (workflow(template("{{=inputs.parameters['x']}}", value="a/b:1")), ["docker.io/a/b:1"]),
        (workflow(template("{{inputs.parameters.x}}"), caller("a:1"), caller("b:2", "other")),
         ["docker.io/library/a:1", "docker.io/library/b:2"]),
        (workflow(template("{{inputs.parameters.x}}"), caller("a:{{workflow.parameters.t}}"),
                  arguments={"parameters": [{"name": "t", "value": "7"}]}), ["docker.io/library/a:7"]),
        (workflow(template("{{inputs.parameters.x}}"), entrypoint="run",
                  arguments={"parameters": [{"name": "x", "value": "a:7"}]}), ["docker.io/library/a:7"]),
        # The parameter of a caller is the caller's own.
        (workflow(template("a:{{inputs.parameters.x}}"),
                  {**caller("1{{inputs.parameters.x}}"), "inputs": {"parameters": [{"name": "x", "value": "2"}]}}),
         ["docker.io/library/a:12"]),
        (manifest("CronWorkflow", ARGO, spec={"workflowSpec": {"templates": [template("{{inputs.parameters.x}}",
                                                                                      value="a:1")]}}),
         ["docker.io/library/a:1"]),
    ],
)  # fmt: skip
def test_a_parameter_is_what_the_workflow_gives_it(one: Any, expected: list[str]) -> None:
    assert images(one) == expected
    assert unclear(one) == {}


X = "{{inputs.parameters.x}}"


@pytest.mark.parametrize(
    "one",
    [
        workflow(template(X)),
        workflow(template(X), caller("a:1"), caller("{{item}}", "other")),
        workflow(template(X), caller(None, valueFrom={"configMapKeyRef": {"name": "x", "key": "y"}})),
        workflow(template(X, value=X)),
        workflow(template(X), {"name": "run", "steps": [[{"template": "run", "arguments": {"parameters": 1}}]]}),
        workflow(template(X, value="A B")),
        workflow(template(X), *(caller(f"a:{number}", f"c{number}") for number in range(99))),
        manifest("Thing", "example.org/v1", spec={"templates": [template(X, value="a:1")]}),
    ],
)
def test_a_parameter_that_stays_open_is_told(one: Any) -> None:
    assert unclear(one) == {X: False}
    (field,) = unreadable_images(one)
    assert "a value or a default" in field.fix


def test_a_text_without_a_parameter_in_a_workflow_is_a_mistake() -> None:
    assert unclear(workflow(template("A B"))) == {"A B": True}


words = st.text() | st.sampled_from([X, "run", "{{workflow.parameters.x}}", "a:1", "x", "${A}"])
names = st.sampled_from(
    ["templates", "inputs", "parameters", "arguments", "name", "value", "image", "container", "template", "entrypoint",
     "env", "args", "data"]
)  # fmt: skip
nested = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names | st.text(), inner, max_size=4),
    max_leaves=15,
)


@given(st.dictionaries(names | st.just("spec"), nested, max_size=4))
def test_no_object_makes_it_raise(content: Any) -> None:
    one = {"apiVersion": ARGO, "kind": "Workflow", "metadata": {"name": "x"}, **content}
    for field in unreadable_images(one):
        assert field.fix
    assert list(named_images(one)) is not None
