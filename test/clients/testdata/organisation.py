"""Manages an organisation with python-gitlab and reads it back.

Run as: organisation.py URL TOKEN, with the token of an administrator on a server without
rate limits. It ends with status 0 when all is as it was written. Written for version 3.12,
the one of Debian 12; later versions run it too.
"""

import base64
import datetime
import subprocess
import sys
import tempfile
import time
import warnings

import gitlab
from gitlab.const import AccessLevel

from checks import equal, refused

warnings.simplefilter("error")
warnings.simplefilter("ignore", ResourceWarning)
URL, TOKEN = sys.argv[1:]
PASSWORD = "kw9-zebra-quartz"
NEXT_MONTH = (datetime.date.today() + datetime.timedelta(days=30)).isoformat()

# A PNG of one red pixel.
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)


def until(what, ask):
    for _ in range(1200):
        got = ask()
        if got:
            return got
        time.sleep(0.1)
    raise AssertionError(f"{what}: did not come about in two minutes")


def names(objects, attribute):
    return sorted(getattr(o, attribute) for o in objects)


def public_key(comment):
    with tempfile.TemporaryDirectory() as folder:
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", folder + "/key"]
        subprocess.run(command, check=True)
        with open(folder + "/key.pub", encoding="ascii") as f:
            return f.read().strip()


root = gitlab.Gitlab(URL, private_token=TOKEN)
root.auth()
equal("signed in", root.user.username, "root")
equal("version", root.version()[0], "16.0.0-ee")


def as_user(token):
    return gitlab.Gitlab(URL, private_token=token)


# People: created, changed, found, blocked and let in again.
people, clients = {}, {}
for name in ("ann", "ben", "cat"):
    person = root.users.create(
        {
            "email": f"{name}@example.com",
            "username": name,
            "name": f"{name.title()} of Acme",
            "password": PASSWORD,
            "skip_confirmation": True,
            "bio": "Makes things.",
            "projects_limit": 5,
        }
    )
    token = person.personal_access_tokens.create(
        {"name": "work", "scopes": ["api", "write_repository"], "expires_at": NEXT_MONTH}
    )
    people[name], clients[name] = person, as_user(token.token)
ann, ben, cat = people["ann"], people["ben"], people["cat"]
message = refused("a taken name", 409, root.users.create, email="x@example.com", username="ann", name="X", password=PASSWORD)
assert "has already been taken" in message, message
equal("looked for", names(root.users.list(search="of Acme", get_all=True), "username"), ["ann", "ben", "cat"])

ben.note, ben.location = "in the garage", "Bern"
ben.avatar = PIXEL
ben.save()
again = root.users.get(ben.id)
equal("changed", (again.note, again.location, again.bio), ("in the garage", "Bern", "Makes things."))
assert again.avatar_url.startswith(URL), again.avatar_url
ben.block()
equal("blocked", root.users.get(ben.id).state, "blocked")
refused("a blocked user", 403, clients["ben"].projects.list)
ben.unblock()
equal("let in", clients["ben"].projects.list(), [])

key = ann.keys.create({"title": "laptop", "key": public_key("ann@laptop")})
equal("key", [k.title for k in ann.keys.list()], ["laptop"])
equal("owner of the key", root.keys.get(key.id).user["username"], "ann")
clients["cat"].auth()
own = clients["cat"].user.keys.create({"title": "desk", "key": public_key("cat@desk")})
equal("own key", clients["cat"].user.keys.get(own.id).key.split()[:2], own.key.split()[:2])
refused("the key of another", 404, clients["ben"].http_get, f"/user/keys/{own.id}")
ann.emails.create({"email": "ann@example.org", "skip_confirmation": True})
equal("addresses", [e.email for e in ann.emails.list()], ["ann@example.org"])
ann.customattributes.set("office", "Bern")
equal("by attribute", [u.username for u in root.users.list(custom_attributes={"office": "Bern"})], ["ann"])
impersonated = ann.impersonationtokens.create({"name": "help", "scopes": ["read_user"], "expires_at": NEXT_MONTH})
narrow = as_user(impersonated.token)
narrow.auth()
equal("impersonated", narrow.user.username, "ann")
refused("more than the scope", 403, narrow.projects.list)

# Groups three deep, with members, one of them for a month, and a group that is invited.
top = clients["ann"].groups.create(
    {"name": "Acme", "path": "acme", "visibility": "public", "description": "Makers", "project_creation_level": "maintainer"}
)
middle = clients["ann"].groups.create({"name": "Products", "path": "products", "parent_id": top.id, "visibility": "public"})
low = clients["ann"].groups.create({"name": "Rockets", "path": "rockets", "parent_id": middle.id, "visibility": "private"})
guests = root.groups.create({"name": "Guests", "path": "guests", "visibility": "private"})
equal("path", low.full_path, "acme/products/rockets")
equal("below", names(top.descendant_groups.list(get_all=True), "full_path"), ["acme/products", "acme/products/rockets"])
equal("children", [g.path for g in top.subgroups.list()], ["products"])
middle.members.create({"user_id": ben.id, "access_level": AccessLevel.DEVELOPER, "expires_at": NEXT_MONTH})
guests.members.create({"user_id": cat.id, "access_level": AccessLevel.DEVELOPER})
refused("a group that she does not see", 404, low.share, guests.id, AccessLevel.REPORTER)
root.groups.get(low.id).share(guests.id, AccessLevel.REPORTER)
low = clients["ann"].groups.get("acme/products/rockets")
equal("what she sees of it", low.shared_with_groups, [])
invited = root.groups.get(low.id).shared_with_groups
equal("invited", [(g["group_name"], g["group_access_level"]) for g in invited], [("Guests", 20)])
levels = {m.username: m.access_level for m in low.members_all.list(get_all=True)}
equal("everybody", levels, {"ann": 50, "ben": 30, "cat": 20, "root": 20})
member = middle.members.get(ben.id)
member.access_level = AccessLevel.MAINTAINER
member.save()
equal("risen", (middle.members.get(ben.id).access_level, middle.members.get(ben.id).expires_at), (40, NEXT_MONTH))
refused("the last owner", 403, top.members.delete, ann.id)

# A service account of the group, which is a member like people and signs on with tokens alone.
accounts = f"/groups/{top.id}/service_accounts"
deployer = clients["ann"].http_post(accounts, post_data={"name": "Deployer"})
equal("generated", deployer["username"].startswith(f"service_account_group_{top.id}_"), True)
secret = clients["ann"].http_post(
    f"{accounts}/{deployer['id']}/personal_access_tokens", post_data={"name": "ci", "scopes": ["api"], "expires_at": NEXT_MONTH}
)
deploys = as_user(secret["token"])
deploys.auth()
equal("signed in as the account", (deploys.user.username, deploys.user.bot), (deployer["username"], True))
refused("where it is no member", 404, deploys.groups.get, low.id)
low.members.create({"user_id": deployer["id"], "access_level": AccessLevel.DEVELOPER})
equal("a member", deploys.groups.get(low.id).path, "rockets")
refused("of a subgroup", 400, clients["ann"].http_post, f"/groups/{middle.id}/service_accounts")
clients["ann"].http_delete(f"{accounts}/{deployer['id']}")
until("the account is gone", lambda: clients["ann"].http_list(accounts) == [])
refused("after its deletion", 401, deploys.groups.get, low.id)
top.description = "Makers of things"
top.save()
equal("described", root.groups.get(top.id).description, "Makers of things")
label = top.labels.create({"name": "urgent", "color": "#ff0000"})
equal("label", [(x.name, x.color) for x in low.labels.list()], [("urgent", label.color)])
badge = top.badges.create({"link_url": "https://example.com/%{project_path}", "image_url": "https://example.com/badge.svg"})
equal("badge", [b.id for b in top.badges.list()], [badge.id])

# A project: fields, members, keys, tokens, protection.
project = clients["ann"].projects.create(
    {
        "name": "Engine",
        "namespace_id": low.id,
        "description": "Burns",
        "initialize_with_readme": True,
        "topics": ["fire", "space"],
        "merge_method": "ff",
        "wiki_access_level": "disabled",
        "only_allow_merge_if_all_discussions_are_resolved": True,
    }
)
project.ci_default_git_depth = 7
project.squash_option = "always"
project.save()
read = clients["cat"].projects.get("acme/products/rockets/engine")
equal("fields", (read.description, read.topics, read.merge_method), ("Burns", ["fire", "space"], "ff"))
read = clients["ann"].projects.get(project.id)
equal("settings", (read.wiki_access_level, read.squash_option, read.ci_default_git_depth), ("disabled", "always", 7))
equal("topics", names(root.topics.list(get_all=True), "name"), ["fire", "space"])
project.members.create({"user_id": cat.id, "access_level": AccessLevel.DEVELOPER})
equal("of the project", [m.username for m in project.members.list()], ["cat"])
deploy_key = project.keys.create({"title": "builder", "key": public_key("builder"), "can_push": True})
equal("deploy key", [(k.title, k.can_push) for k in project.keys.list()], [("builder", True)])
deploy = project.deploytokens.create({"name": "pull", "scopes": ["read_repository"]})
subprocess.run(
    ["git", "ls-remote", "-q", project.http_url_to_repo.replace("://", f"://{deploy.username}:{deploy.token}@"), "main"],
    check=True,
    stdout=subprocess.DEVNULL,
)
robot = project.access_tokens.create({"name": "robot", "scopes": ["api"], "access_level": 30, "expires_at": NEXT_MONTH})
bot = as_user(robot.token)
bot.auth()
equal("the robot", (bot.user.name, bot.user.bot), ("robot", True))
equal("what it sees", [p.path_with_namespace for p in bot.projects.list(membership=True)], [project.path_with_namespace])
project.pushrules.create({"branch_name_regex": "^(main|feature/.*)$", "prevent_secrets": True})
equal("push rule", project.pushrules.get().branch_name_regex, "^(main|feature/.*)$")
protection = project.protectedbranches.create(
    {"name": "stable/*", "push_access_level": 0, "merge_access_level": 40, "allow_force_push": True}
)
equal("protected", names(project.protectedbranches.list(), "name"), ["main", "stable/*"])
equal("levels", [x["access_level"] for x in protection.merge_access_levels], [40])
project.protectedtags.create({"name": "v*", "create_access_level": 40})

# What is in it: files, branches, tags, commits, a merge request that is merged.
cats = clients["cat"].projects.get(project.id)
refused("a protected branch", 403, cats.files.create, {"file_path": "a", "branch": "main", "content": "a", "commit_message": "a"})
refused("a name that the rule forbids", 400, cats.branches.create, {"branch": "other", "ref": "main"})
cats.branches.create({"branch": "feature/a b".replace(" ", "-"), "ref": "main"})
file = cats.files.create(
    {
        "file_path": "docs/näme & more.md",
        "branch": "feature/a-b",
        "content": base64.b64encode("Zündung\n".encode()).decode(),
        "encoding": "base64",
        "commit_message": "Say how to ignite",
    }
)
equal("file", cats.files.get(file.file_path, ref="feature/a-b").decode().decode(), "Zündung\n")
equal("tree", [e["path"] for e in cats.repository_tree(ref="feature/a-b", recursive=True, get_all=True)], ["docs", "README.md", file.file_path])
cats.commits.create(
    {
        "branch": "feature/a-b",
        "commit_message": "Add tests",
        "actions": [{"action": "create", "file_path": "test.sh", "content": "true\n", "execute_filemode": True}],
    }
)
equal("compared", [c["title"] for c in cats.repository_compare("main", "feature/a-b")["commits"]], ["Say how to ignite", "Add tests"])
request = cats.mergerequests.create({"source_branch": "feature/a-b", "target_branch": "main", "title": "Ignite", "labels": ["urgent"]})
request.notes.create({"body": "Ready."})
until("judged", lambda: cats.mergerequests.get(request.iid).detailed_merge_status == "mergeable")
resetter = clients["ann"].projects.get(project.id).access_tokens.create({"name": "bot", "scopes": ["api"], "access_level": 40, "expires_at": NEXT_MONTH})
equal("reset by a bot", as_user(resetter.token).projects.get(project.id, lazy=True).mergerequests.list()[0].reset_approvals(), 202)
merged = clients["ann"].projects.get(project.id).mergerequests.get(request.iid).merge(should_remove_source_branch=True)
equal("merged", (merged["state"], merged["merged_by"]["username"]), ("merged", "ann"))
equal("branches", [b.name for b in cats.branches.list()], ["main"])
refused("a protected tag", 400, cats.tags.create, {"tag_name": "v1", "ref": "main"})
project.tags.create({"tag_name": "v1", "ref": "main", "message": "First"})
equal("tag", [(t.name, t.message) for t in cats.tags.list()], [("v1", "First")])
issue = cats.issues.create({"title": "Too hot", "labels": ["urgent"], "assignee_ids": [ben.id], "confidential": True})
issue.state_event = "close"
issue.save()
equal("issue", (cats.issues.get(issue.iid).state, cats.issues.get(issue.iid).labels), ("closed", ["urgent"]))
refused("a stranger", 404, as_user("").projects.get, project.id)

# Settings, lists of many, import, the archive.
settings = root.settings.get()
equal("protection of new projects", settings.default_branch_protection, 2)
settings.allow_local_requests_from_web_hooks_and_services = True
settings.default_projects_limit = 42
settings.save()
equal("limit", root.settings.get().default_projects_limit, 42)
source = project.http_url_to_repo.replace("://", f"://ann:{clients['ann'].private_token}@")
copy = clients["ann"].projects.create({"name": "Copy", "import_url": source})
until("imported", lambda: clients["ann"].projects.get(copy.id).import_status == "finished")
equal("imported", [t.name for t in clients["ann"].projects.get(copy.id).tags.list()], ["v1"])
for n in range(25):
    project.labels.create({"name": f"n{n:02}", "color": "#00ff00"})
equal("all pages", len(project.labels.list(get_all=True, include_ancestor_groups=False)), 25)
equal("one after another", len(list(project.labels.list(iterator=True, per_page=7))), 26)
users = [u.id for u in root.users.list(pagination="keyset", order_by="id", per_page=2, get_all=True)]
equal("by keyset", sorted(users, reverse=True), users)
assert {ann.id, ben.id, cat.id} <= set(users), users
project.archive()
refused("in the archive", 403, cats.files.create, {"file_path": "a", "branch": "feature/x", "content": "a", "commit_message": "a"})
project.unarchive()

# The end: tokens, members, places, people.
robot.delete()
refused("a robot without its token", 401, bot.projects.list)
until("the robot is gone", lambda: root.users.list(username=bot.user.username) == [])
middle.members.delete(ben.id)
refused("somebody who left", 404, clients["ben"].projects.get, project.id)
root.groups.get(low.id).unshare(guests.id)
settings.delayed_group_deletion = False
settings.save()
top.delete()
until("the groups are gone", lambda: root.groups.list(search="acme", get_all=True) == [])
refused("the project is gone", 404, root.projects.get, project.id)
cat.delete(hard_delete=True)
until("cat is gone", lambda: root.users.list(username="cat") == [])
print("organisation: all as it was written")
