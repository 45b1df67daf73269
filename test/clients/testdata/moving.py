"""Moves projects and groups with python-gitlab: archives there and back, and a direct transfer.

Run as: moving.py URL TOKEN, with the token of an administrator. Written for version 3.12, the one of Debian
12, which has no class for transfers: they are asked for by its requests.
"""

import os
import sys
import tempfile
import time
import warnings

import gitlab

from checks import equal, refused

warnings.simplefilter("error")
warnings.simplefilter("ignore", ResourceWarning)
URL, TOKEN = sys.argv[1:]

root = gitlab.Gitlab(URL, private_token=TOKEN)
root.auth()
settings = root.settings.get()
settings.bulk_import_enabled = True
settings.allow_local_requests_from_web_hooks_and_services = True
settings.import_sources = ["gitlab_project", "git"]
settings.save()


def until(what, holds):
    end = time.monotonic() + 60
    while not holds():
        if time.monotonic() > end:
            raise AssertionError("waited a minute for " + what)
        time.sleep(0.05)


def archive(export, name):
    """Downloads an archive in pieces, as the library's manual shows."""
    with open(name, "wb") as f:
        export.download(streamed=True, action=f.write)
    equal("the archive has bytes", os.path.getsize(name) > 100, True)


def projects(group, folder):
    project = root.projects.create({"name": "Shop", "namespace_id": group.id, "initialize_with_readme": True})
    issue = project.issues.create({"title": "Broken", "labels": "bug,late", "created_at": "2024-01-02T03:04:05Z"})
    issue.notes.create({"body": "I saw it"})
    project.milestones.create({"title": "Spring"})
    equal("export before it is asked for", project.exports.get().export_status, "none")
    export = project.exports.create()

    def finished():
        export.refresh()
        return export.export_status == "finished"

    until("the export", finished)
    equal("links", sorted(export._links), ["api_url", "web_url"])
    name = os.path.join(folder, "project.tar.gz")
    archive(export, name)
    with open(name, "rb") as f:
        made = root.projects.import_project(f, path="again", name="Again", namespace=group.full_path, override_params={"description": "Another text"})
    equal("scheduled", made["import_status"], "scheduled")
    moved = root.projects.get(made["id"], lazy=True)
    until("the import", lambda: moved.imports.get().import_status in ("finished", "failed"))
    equal("import", moved.imports.get().import_status, "finished")
    moved = root.projects.get(made["id"])
    equal("description", moved.description, "Another text")
    one = moved.issues.get(1)
    equal("issue", (one.title, one.labels, one.created_at, one.imported_from), ("Broken", ["bug", "late"], "2024-01-02T03:04:05.000Z", "gitlab_project"))
    equal("notes", [n.body.split("\n")[0] for n in one.notes.list() if not n.system], ["I saw it"])
    equal("milestones", [m.title for m in moved.milestones.list()], ["Spring"])
    equal("files", [f["name"] for f in moved.repository_tree()], ["README.md"])
    with open(name, "rb") as f:
        refused("a path that is taken", 400, lambda: root.projects.import_project(f, path="again", namespace=group.full_path))
    with open(name, "rb") as f:
        over = root.projects.import_project(f, path="again", namespace=group.full_path, overwrite=True)
    over = root.projects.get(over["id"], lazy=True)
    until("the import over a project", lambda: over.imports.get().import_status in ("finished", "failed"))
    equal("import over a project", over.imports.get().import_status, "finished")
    refused("http", 400, lambda: root.projects.remote_import("http://127.0.0.1:1/a.tar.gz", "remote"))


def groups(group, folder):
    group.labels.create({"name": "of the group", "color": "#00ff00"})
    export = group.exports.create()
    name = os.path.join(folder, "group.tar.gz")

    def downloaded():
        try:
            archive(export, name)
        except gitlab.GitlabGetError as e:
            equal("not there yet", e.response_code, 404)
            return False
        return True

    until("the export of the group", downloaded)
    with open(name, "rb") as f:
        answer = root.groups.import_group(f, path="imported", name="Imported")
    equal("accepted", answer["message"], "202 Accepted")
    imported = root.groups.get("imported")
    until("labels", lambda: [x.name for x in imported.labels.list()] == ["of the group"])


def transfers(group):
    configuration = {"url": URL, "access_token": TOKEN}
    entity = {"source_type": "group_entity", "source_full_path": group.full_path, "destination_slug": "moved", "destination_namespace": "imported"}
    bulk = root.http_post("/bulk_imports", post_data={"configuration": configuration, "entities": [entity]})
    equal("created", bulk["status"], "created")
    path = f"/bulk_imports/{bulk['id']}"
    until("the transfer", lambda: root.http_get(path)["status"] in ("finished", "failed"))
    entities = root.http_list(path + "/entities", get_all=True)
    equal("transfer", (root.http_get(path)["status"], [f for e in entities for f in e["failures"]]), ("finished", []))
    equal("entities", sorted(e["destination_slug"] for e in entities), ["again", "moved", "shop"])
    equal("all transfers", [b["id"] for b in root.http_list("/bulk_imports", get_all=True)], [bulk["id"]])
    equal("all entities", len(root.http_list("/bulk_imports/entities", get_all=True)), 3)
    equal("issue", root.projects.get("imported/moved/shop").issues.get(1).title, "Broken")


with tempfile.TemporaryDirectory() as folder:
    team = root.groups.create({"name": "Team", "path": "team"})
    projects(team, folder)
    groups(team, folder)
    transfers(team)
print("all moved as it should")
