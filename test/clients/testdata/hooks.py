"""Manages hooks and integrations with python-gitlab and its command line.

Run as: hooks.py URL TOKEN, with the token of an administrator. It ends with status 0 when all is as it was at first. Written for
version 3.12, the one of Debian 12; what it has no class for is asked by its requests.
"""

import json
import subprocess
import sys
import warnings

import gitlab

from checks import equal, refused

warnings.simplefilter("error")
warnings.simplefilter("ignore", ResourceWarning)
URL, TOKEN = sys.argv[1:]
ADDRESS = "https://8.8.8.8/hook"

root = gitlab.Gitlab(URL, private_token=TOKEN)
root.auth()


def command(*words):
    line = [sys.executable, "-m", "gitlab", "--server-url", URL, "--private-token", TOKEN, "-o", "json", *words]
    out = subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()
    return json.loads(out) if out else None


def hooks(manager, flag):
    hook = manager.create({"url": ADDRESS, "token": "planted", flag: True})
    equal(flag, getattr(hook, flag), True)
    equal("token", hasattr(hook, "token"), False)
    change = {"url": ADDRESS + "/other", flag: False}
    if hasattr(manager, "update"):
        manager.update(hook.id, change)
    else:
        root.http_put(f"{manager.path}/{hook.id}", post_data=change)
    again = manager.get(hook.id)
    equal("url", again.url, ADDRESS + "/other")
    equal(flag + " once more", getattr(again, flag), False)
    equal("list", [h.id for h in manager.list(get_all=True)], [hook.id])
    refused("no URL", 422, manager.create, {"url": "ftp://8.8.8.8/"})
    hook.delete()
    refused("a hook that was deleted", 404, manager.get, hook.id)
    equal("list at last", manager.list(get_all=True), [])


def hooks_by_command(project):
    made = command("project-hook", "create", "--project-id", str(project.id), "--url", ADDRESS)
    command("project-hook", "update", "--project-id", str(project.id), "--id", str(made["id"]), "--url", ADDRESS, "--note-events", "true")
    equal("flag by the command line", project.hooks.get(made["id"]).note_events, True)
    equal("list by the command line", [h["id"] for h in command("project-hook", "list", "--project-id", str(project.id))], [made["id"]])
    command("project-hook", "delete", "--project-id", str(project.id), "--id", str(made["id"]))
    equal("list after it was deleted", project.hooks.list(get_all=True), [])


def integrations(project):
    manager = getattr(project, "integrations", None) or project.services
    one = manager.get("asana", lazy=True)
    one.api_key = "planted"
    one.save()
    one = manager.get("asana")
    equal("active", one.active, True)
    equal("secret", "planted" in json.dumps(one.asdict()), False)
    equal("list", [s.slug for s in manager.list(get_all=True)], ["asana"])
    equal("available", "asana" in manager.available(), True)
    one.delete()
    equal("list at last", manager.list(get_all=True), [])
    wiki = manager.update("external-wiki", {"external_wiki_url": "https://wiki.example.com"})
    equal("wiki", wiki["properties"]["external_wiki_url"], "https://wiki.example.com")
    refused("an unknown integration", 404, manager.update, "no-such-service", {"a": "b"})
    name = "project-integration" if hasattr(project, "integrations") else "project-service"
    equal("list by the command line", [s["slug"] for s in command(name, "list", "--project-id", str(project.id))], ["external-wiki"])
    command(name, "delete", "--project-id", str(project.id), "--slug", "external-wiki")  # not --id
    equal("after it was deleted", manager.list(get_all=True), [])


group = root.groups.create({"name": "Team", "path": "team"})
project = root.projects.create({"name": "Shop", "namespace_id": group.id})
hooks(project.hooks, "issues_events")
hooks(group.hooks, "subgroup_events")
hooks(root.hooks, "tag_push_events")
hooks_by_command(project)
integrations(project)
print("all hooks and integrations as they should")
