"""The commands that make the Secrets which no component makes."""

from collections.abc import Iterable, Iterator

from generator.components.component import Computed, Secret
from generator.components.node_text import Escaped, Shell, Template, Text, Word, joined, static

# No comment: zsh takes none where people type or paste.
HEAD = Template("\necho {about}\nmkdir -p {namespace}/{name}\n")
KNOWN = Template("printf %s {value} >{file}\n")
# `value` and `secret` are functions of the step (prose/secrets.md). 24 random bytes in hex, or 32 in base64.
RANDOM = {
    "hex": Template("value {namespace} {name} {key} openssl rand -hex 24\n"),
    "base64": Template("value {namespace} {name} {key} openssl rand -base64 32\n"),
}
COMPUTED = Template("value {namespace} {name} {key} {function} {files}\n")
CREATE = Template("secret {namespace} {name}{files}\n")
FROM_FILE = Template(" {key}={file}")
LABEL = Template("kubectl -n {namespace} label secret {name} {label}\n")
FILE = Template("{folder}/{key}")


def secret_commands(secrets: Iterable[Secret]) -> Text:
    """Return the commands, for a folder of one's own: a file for each value, then the Secret of them. Those that are
    copied come first, so that both hold the same: what the cluster has already, whatever lies in the folder.
    """
    made = [secret for secret in secrets if secret.source in {"given", "generated"}]
    commands = (_commands(secret) for secret in sorted(made, key=lambda secret: secret.copy_of is not None))
    return joined((_functions(made), *commands))


ROW = Template("| `{entry}` | {keys} | {value} |\n")
ASKED = Template("; {keys}: given")
CALL = Template("; {key}: `{function} {of}`, below")
FUNCTIONS = Template(
    "\nA shell function in the table takes the files with these keys, and prints the value:\n```sh\n{functions}```\n"
)
VALUES = {"hex": Template("`openssl rand -hex 24`"), "base64": Template("`openssl rand -base64 32`")}


def store_rows(secrets: Iterable[Secret]) -> Text:
    """Return a row for each entry that the site's store must hold: where, which keys, and how a value is made."""
    # What is copied has the last word: a copy may hold fewer keys.
    rows = {one.entry: _row(one) for one in sorted(secrets, key=lambda one: one.copy_of is None) if one.entry}
    return joined(row for _, row in sorted(rows.items()))


def store_functions(secrets: Iterable[Secret]) -> Text:
    """Return the shell functions that make values of the site's store, with a word about them; empty without any."""
    functions = _functions(one for one in secrets if one.entry)
    return Text(FUNCTIONS, functions=functions) if functions else functions


def _functions(secrets: Iterable[Secret]) -> Text:
    scripts = dict.fromkeys(one.script for secret in secrets for one in secret.computed.values())
    return joined(static(script) for script in scripts)


def store_namespaces(secrets: Iterable[Secret]) -> Text:
    """Return the namespaces of the Secrets that come from the site's store."""
    return joined((Word(one) for one in sorted({one.namespace for one in secrets if one.entry})), ", ")


def _row(secret: Secret) -> Text:
    value = Text(VALUES[secret.form]) if secret.random else Text(Template("given"))
    if secret.asked:
        value = joined((value, Text(ASKED, keys=joined(map(Word, secret.asked), ", "))))
    for key, one in secret.computed.items():
        of = joined((Word(each) for each in one.of), " ")
        value = joined((value, Text(CALL, key=Word(key), function=Word(one.function), of=of)))
    keys = joined((Word(key) for key in secret.keys), ", ")
    return Text(ROW, entry=Word(secret.entry), keys=keys, value=value)


def _commands(secret: Secret) -> Text:
    return joined((_head(secret), *_values(secret), _create(secret), *_labels(secret)))


def _where(secret: Secret) -> dict[str, Escaped]:
    return {"namespace": Word(secret.namespace), "name": Word(secret.name)}


def _file(secret: Secret, key: str) -> Text:
    folder = secret.copy_of or f"{secret.namespace}/{secret.name}"
    return Text(FILE, folder=Word(folder), key=Word(key))


def _head(secret: Secret) -> Text:
    mine = [_file(secret, key) for key in filter(secret.by_person, secret.keys)]
    first = f"; first put here: {', '.join(mine)}" if mine else ""
    readers = ", ".join(secret.readers)
    about = f"{secret.namespace}/{secret.name}, read by {readers}; with it lost: {secret.loss}{first}"
    return Text(HEAD, about=Shell(about), **_where(secret))


def _values(secret: Secret) -> Iterator[Text]:
    for key in secret.keys:
        file = _file(secret, key)
        if key in secret.known:
            yield Text(KNOWN, value=Shell(secret.known[key]), file=file)
        elif computed := None if secret.copy_of else secret.computed.get(key):
            yield Text(COMPUTED, key=Word(key), **_where(secret), **_made(secret, computed))
        elif secret.source == "generated" and not secret.copy_of and not secret.by_person(key):
            yield Text(RANDOM[secret.form], key=Word(key), **_where(secret))


def _made(secret: Secret, computed: Computed) -> dict[str, Escaped | Text]:
    files = joined((_file(secret, one) for one in computed.of), " ")
    return {"function": Word(computed.function), "files": files}


def _create(secret: Secret) -> Text:
    files = joined(Text(FROM_FILE, key=Word(key), file=_file(secret, key)) for key in secret.keys)
    return Text(CREATE, files=files, **_where(secret))


def _labels(secret: Secret) -> Iterator[Text]:
    for key, value in secret.labels.items():
        yield Text(LABEL, label=Word(f"{key}={value}"), **_where(secret))
