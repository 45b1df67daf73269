"""Administers an instance with python-gitlab and its command line.

Run as: administration.py URL TOKEN, with the token of an administrator. It ends with status 0 when all is as it was at first. Written for
version 3.12, the one of Debian 12; what it has no class for is asked by its requests.
"""

import datetime
import json
import subprocess
import sys
import time
import warnings

import gitlab

from checks import equal, refused

warnings.simplefilter("error")
warnings.simplefilter("ignore", ResourceWarning)
URL, TOKEN = sys.argv[1:]
NEXT_MONTH = (datetime.date.today() + datetime.timedelta(days=30)).isoformat()

root = gitlab.Gitlab(URL, private_token=TOKEN)
root.auth()


def command(*words):
    line = [sys.executable, "-m", "gitlab", "--server-url", URL, "--private-token", TOKEN, "-o", "json", *words]
    out = subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()
    return json.loads(out) if out else None


def settings_of_the_instance():
    settings = root.settings.get()
    first = settings.asdict()
    settings.default_projects_limit = 42
    settings.user_default_external = True
    settings.domain_denylist = ["a.example", "b.example"]
    settings.save()
    again = root.settings.get()
    equal("limit", again.default_projects_limit, 42)
    equal("external", again.user_default_external, True)
    equal("domains", again.domain_denylist, ["a.example", "b.example"])
    refused("a limit below 0", 400, root.settings.update, new_data={"default_projects_limit": -1})
    equal("command line", command("application-settings", "get")["default_projects_limit"], 42)
    command("application-settings", "update", "--default-projects-limit", "43")
    equal("by the command line", root.settings.get().default_projects_limit, 43)
    root.settings.update(new_data={name: first[name] for name in ("default_projects_limit", "user_default_external", "domain_denylist")})
    last = root.settings.get().asdict()
    for name in first:
        if name != "updated_at":
            equal("at last: " + name, last[name], first[name])


def features():
    group = root.groups.create({"name": "Pilots", "path": "pilots"})
    made = root.features.set("pilot", True)
    equal("feature", (made.name, made.state), ("pilot", "on"))
    made = root.features.set("pilot_of_user", True, user="root")
    equal("of a user", made.state, "conditional")
    made = root.features.set("pilot_of_group", True, group="pilots")
    equal("of a group", made.state, "conditional")
    made = root.features.set("pilot_of_some", 25)
    equal("of some", [g["value"] for g in made.gates if g["key"] == "percentage_of_time"], [25])
    known = {f.name for f in root.features.list(get_all=True)}
    assert {"pilot", "pilot_of_user", "pilot_of_group", "pilot_of_some"} <= known, known
    for name in ("pilot", "pilot_of_user", "pilot_of_group"):
        next(f for f in root.features.list(get_all=True) if f.name == name).delete()
    root.features.delete("pilot_of_some")
    equal("features at last", {f.name for f in root.features.list(get_all=True)} & known & {"pilot", "pilot_of_some"}, set())
    group.delete()


def messages():
    message = root.broadcastmessages.create({"message": "Down at noon", "broadcast_type": "banner"})
    equal("message", root.broadcastmessages.get(message.id).message, "Down at noon")
    message.message = "Down at one"
    message.save()
    equal("messages", [m.message for m in root.broadcastmessages.list(get_all=True)], ["Down at one"])
    equal("command line", [m["message"] for m in command("broadcast-message", "list", "--get-all")], ["Down at one"])
    message.delete()
    equal("messages at last", root.broadcastmessages.list(get_all=True), [])


def appearance():
    page = root.appearance.get()
    first = page.title
    page.title = "Crane works"
    page.save()
    equal("title", root.appearance.get().title, "Crane works")
    root.appearance.update(new_data={"title": first})
    equal("title at last", root.appearance.get().title, first)


def figures():
    assert "queues" in root.sidekiq.queue_metrics()
    assert "processes" in root.sidekiq.process_metrics()
    assert {"processed", "failed", "enqueued"} <= set(root.sidekiq.job_stats()["jobs"])
    equal("figures at once", sorted(root.sidekiq.compound_metrics()), ["jobs", "processes", "queues"])
    licence = root.get_license()
    equal("license", licence["expired"], False)
    refused("another license", 400, root.set_license, "x")
    before = root.statistics.get()
    root.projects.create({"name": "Counted"})
    assert before.users >= 1, before
    assert command("application-statistics", "get")["users"] == before.users


def rate_limits():
    """A request beyond a limit waits as the answer says, and is asked again."""
    settings = root.settings.get()
    settings.throttle_authenticated_api_enabled = True
    settings.throttle_authenticated_api_requests_per_period = 3
    settings.throttle_authenticated_api_period_in_seconds = 3
    settings.save()
    seen = set()
    for _ in range(20):
        try:
            root.http_get("/version", obey_rate_limit=False)
        except gitlab.exceptions.GitlabHttpError as e:
            seen.add(e.response_code)
            break
    equal("beyond the limit", seen, {429})
    began = time.monotonic()
    for _ in range(5):
        root.http_get("/version")
    assert time.monotonic() - began > 0.5, "no request waited"
    root.settings.update(new_data={"throttle_authenticated_api_enabled": False, "throttle_authenticated_api_requests_per_period": 7200,
                                   "throttle_authenticated_api_period_in_seconds": 3600})


def branches_of_groups():
    group = root.groups.create({"name": "Guards", "path": "guards"})
    at = f"/groups/{group.id}/protected_branches"
    made = root.http_post(at, post_data={"name": "main", "push_access_level": 40, "merge_access_level": 30})
    equal("branch", made["name"], "main")
    project = root.projects.create({"name": "Guarded", "namespace_id": group.id, "initialize_with_readme": True})
    levels = {b.name: [x["access_level"] for x in b.push_access_levels] for b in project.protectedbranches.list(get_all=True)}
    equal("in the project", levels.get("main"), [40])
    equal("branches", [b["name"] for b in root.http_list(at, get_all=True)], ["main"])
    root.http_delete(at + "/main")
    equal("branches at last", root.http_list(at, get_all=True), [])
    group.delete()


def service_accounts():
    group = root.groups.create({"name": "Robots", "path": "robots"})
    for at in ("/service_accounts", f"/groups/{group.id}/service_accounts"):
        made = root.http_post(at, post_data={"name": "Robot", "username": "robot" + at.replace("/", "_")})
        equal("account", made["name"], "Robot")
        assert made["id"] in [u["id"] for u in root.http_list(at, get_all=True)]
    token = root.http_post(f"/groups/{group.id}/service_accounts/{made['id']}/personal_access_tokens",
                           post_data={"name": "x", "scopes": ["api"], "expires_at": NEXT_MONTH})["token"]
    robot = gitlab.Gitlab(URL, private_token=token)
    robot.auth()
    equal("signed in", robot.user.username, made["username"])
    root.http_delete(f"/groups/{group.id}/service_accounts/{made['id']}")
    group.delete()


for step in (settings_of_the_instance, features, messages, appearance, figures, rate_limits, branches_of_groups, service_accounts):
    try:
        step()
    except Exception:
        print("in", step.__name__, file=sys.stderr)
        raise
print("all is as it was")
