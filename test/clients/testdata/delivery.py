"""Manages environments, deployments, releases, feature flags and freeze periods with python-gitlab and its command line.

Run as: delivery.py URL TOKEN, with the token of an administrator. It ends with status 0 when all is as it should be. Written for version 3.12,
the one of Debian 12, which has no classes for freeze periods, feature flags and user lists: this script has them, made as the library makes its own.
"""

import contextlib
import functools
import io
import json
import sys
import unittest.mock
import warnings

import gitlab
import gitlab.cli
from gitlab.base import RESTManager, RESTObject
from gitlab.mixins import CRUDMixin, ObjectDeleteMixin, SaveMixin

from checks import equal, refused

warnings.simplefilter("error")
warnings.simplefilter("ignore", ResourceWarning)
URL, TOKEN = sys.argv[1:]

gitlab.cli._get_parser = functools.cache(gitlab.cli._get_parser)
root = gitlab.Gitlab(URL, private_token=TOKEN)
root.auth()


class FeatureFlag(SaveMixin, ObjectDeleteMixin, RESTObject):
    _id_attr = "name"


class FeatureFlags(CRUDMixin, RESTManager):
    _path = "/projects/{project_id}/feature_flags"
    _obj_cls = FeatureFlag
    _from_parent_attrs = {"project_id": "id"}


class UserList(SaveMixin, ObjectDeleteMixin, RESTObject):
    _id_attr = "iid"


class UserLists(CRUDMixin, RESTManager):
    _path = "/projects/{project_id}/feature_flags_user_lists"
    _obj_cls = UserList
    _from_parent_attrs = {"project_id": "id"}


class FreezePeriod(SaveMixin, ObjectDeleteMixin, RESTObject):
    pass


class FreezePeriods(CRUDMixin, RESTManager):
    _path = "/projects/{project_id}/freeze_periods"
    _obj_cls = FreezePeriod
    _from_parent_attrs = {"project_id": "id"}


def command(*words):
    """Runs the command line in this process, with one parser: making that takes longer than a call."""
    out = io.StringIO()
    with unittest.mock.patch.object(sys, "argv", ["gitlab", "--server-url", URL, "--private-token", TOKEN, "-o", "json", *map(str, words)]):
        with contextlib.redirect_stdout(out):
            gitlab.cli.main()
    return json.loads(out.getvalue()) if out.getvalue().strip() else None


def environments(project):
    made = project.environments.create({"name": "review/new-door", "external_url": "https://door.example.com"})
    equal("slug", made.slug[:10], "review-new")
    equal("state", made.state, "available")
    equal("tier", made.tier, "development")
    made.external_url = "https://other.example.com"
    made.save()
    equal("address", project.environments.get(made.id).external_url, "https://other.example.com")
    equal("search", [e.id for e in project.environments.list(search="new-door", get_all=True)], [made.id])
    equal("states", project.environments.list(states="stopped", get_all=True), [])
    refused("name with search", 400, project.environments.list, name="a", search="abc")
    refused("a script", 400, project.environments.create, {"name": "script", "external_url": "javascript:alert(1)"})
    refused("deleted before it is stopped", 403, made.delete)
    made.stop()
    equal("stopped", project.environments.get(made.id).state, "stopped")
    made.delete()
    refused("an environment that was deleted", 404, project.environments.get, made.id)

    by = ("--project-id", project.id)
    made = command("project-environment", "create", *by, "--name", "staging", "--external-url", "https://staging.example.com")
    equal("tier by the command line", made["tier"], "staging")
    command("project-environment", "update", *by, "--id", made["id"], "--external-url", "https://s.example.com")
    equal("get by the command line", command("project-environment", "get", *by, "--id", made["id"])["external_url"], "https://s.example.com")
    equal("list by the command line", [e["name"] for e in command("project-environment", "list", *by)], ["staging"])
    command("project-environment", "stop", *by, "--id", made["id"])
    command("project-environment", "delete", *by, "--id", made["id"])
    equal("list after it was deleted", project.environments.list(get_all=True), [])


def protected(project, group):
    levels = [{"access_level": 40}, {"group_id": group.id, "group_inheritance_type": 1}]
    rules = [{"access_level": 30, "required_approvals": 2}]
    made = project.protected_environments.create({"name": "production", "deploy_access_levels": levels, "approval_rules": rules})
    equal("levels", [x["access_level_description"] for x in made.deploy_access_levels], ["Maintainers", "Team"])
    equal("rules", [x["required_approvals"] for x in made.approval_rules], [2])
    refused("protected again", 409, project.protected_environments.create, {"name": "production", "deploy_access_levels": levels})
    equal("get", project.protected_environments.get("production").name, "production")
    equal("list", [p.name for p in project.protected_environments.list(get_all=True)], ["production"])
    by = ("--project-id", project.id)
    equal("list by the command line", [p["name"] for p in command("project-protected-environment", "list", *by)], ["production"])
    equal("get by the command line", command("project-protected-environment", "get", *by, "--name", "production")["name"], "production")
    command("project-protected-environment", "delete", *by, "--name", "production")
    equal("list after it was deleted", project.protected_environments.list(get_all=True), [])


def deployments(project):
    sha = project.commits.list(per_page=1, get_all=False)[0].id
    one = project.deployments.create({"environment": "production", "sha": sha, "ref": "main", "tag": False, "status": "running"})
    equal("environment", one.environment["name"], "production")
    equal("status", one.status, "running")
    one.status = "success"
    one.save()
    equal("status once more", project.deployments.get(one.id).status, "success")
    refused("one that has ended", 400, project.deployments.update, one.id, {"status": "running"})
    other = command("project-deployment", "create", "--project-id", project.id, "--environment", "staging", "--sha", sha, "--ref", "main", "--tag", "false", "--status", "failed")
    of = project.deployments.list(environment="production", status="success", order_by="updated_at", sort="desc", get_all=True)
    equal("list", [d.id for d in of], [one.id])
    listed = command("project-deployment", "list", "--project-id", project.id, "--status", "failed")
    equal("list by the command line", [d["id"] for d in listed], [other["id"]])
    equal("merge requests", one.mergerequests.list(get_all=True), [])
    refused("approved", 400, one.approval, "approved", comment="Go")
    latest = project.environments.list(name="production", get_all=True)[0]
    equal("last deployment", project.environments.get(latest.id).last_deployment["id"], one.id)


def releases(project):
    milestone = project.milestones.create({"title": "v1"})
    made = project.releases.create({
        "tag_name": "v1.0", "ref": "main", "name": "One", "description": "It *works*", "milestones": ["v1"],
        "assets": {"links": [{"name": "site", "url": "https://example.com/site", "link_type": "runbook"}]},
    })
    equal("milestones", [m["id"] for m in made.milestones], [milestone.id])
    equal("assets", (made.assets["count"], made.assets["links"][0]["link_type"]), (5, "runbook"))
    refused("a release that is there", 409, project.releases.create, {"tag_name": "v1.0", "description": "x"})
    refused("a tag without a ref", 422, project.releases.create, {"tag_name": "v9", "description": "x"})
    made = project.releases.get("v1.0")
    made.description = "It *works* well"
    made.milestones = []
    made.save()
    again = project.releases.list(include_html_description=True, get_all=True)
    equal("list", [r.tag_name for r in again], ["v1.0"])
    equal("HTML", "<em>works</em> well" in again[0].description_html, True)

    link = made.links.create({"name": "tool", "url": "https://example.com/tool", "filepath": "/bin/tool", "link_type": "package"})
    equal("address of a link", link.direct_asset_url, f"{URL}/{project.path_with_namespace}/-/releases/v1.0/downloads/bin/tool")
    link.url = "https://example.com/newer"
    link.save()
    equal("link", made.links.get(link.id).url, "https://example.com/newer")
    equal("links", sorted(x.name for x in made.links.list(get_all=True)), ["site", "tool"])
    refused("a script", 400, made.links.create, {"name": "script", "url": "javascript:alert(1)"})
    link.delete()
    equal("links at last", [x.name for x in made.links.list(get_all=True)], ["site"])

    by = ("--project-id", project.id)
    command("project-release", "create", *by, "--tag-name", "v2.0", "--ref", "main", "--name", "Two", "--description", "From the command line")
    command("project-release", "update", *by, "--tag-name", "v2.0", "--name", "Second")
    equal("get by the command line", command("project-release", "get", *by, "--tag-name", "v2.0")["name"], "Second")
    equal("list by the command line", [r["tag_name"] for r in command("project-release", "list", *by)], ["v2.0", "v1.0"])
    at = (*by, "--tag-name", "v2.0")
    asset = command("project-release-link", "create", *at, "--name", "book", "--url", "https://example.com/book", "--link-type", "other")
    command("project-release-link", "update", *at, "--id", asset["id"], "--name", "manual")
    equal("link by the command line", command("project-release-link", "get", *at, "--id", asset["id"])["name"], "manual")
    equal("links by the command line", [x["name"] for x in command("project-release-link", "list", *at)], ["manual"])
    command("project-release-link", "delete", *at, "--id", asset["id"])
    command("project-release", "delete", *by, "--tag-name", "v2.0")
    refused("a release that was deleted", 404, project.releases.get, "v2.0")
    equal("its tag", project.tags.get("v2.0").name, "v2.0")
    project.releases.delete("v1.0")
    equal("list at last", project.releases.list(get_all=True), [])


def flags(project):
    lists, manager = UserLists(root, parent=project), FeatureFlags(root, parent=project)
    friends = lists.create({"name": "Friends", "user_xids": "ann,ben"})
    friends.user_xids = "ann,ben,cleo"
    friends.save()
    equal("user list", lists.get(friends.iid).user_xids, "ann,ben,cleo")
    equal("search", [x.iid for x in lists.list(search="riend", get_all=True)], [friends.iid])
    refused("without users", 400, lists.create, {"name": "Others"})

    flag = manager.create({"name": "checkout", "version": "new_version_flag", "strategies": [
        {"name": "gitlabUserList", "parameters": {}, "user_list_id": friends.id},
        {"name": "flexibleRollout", "parameters": {"groupId": "default", "rollout": "50", "stickiness": "userId"}, "scopes": [{"environment_scope": "review/*"}]},
    ]})
    equal("strategies", [s["name"] for s in flag.strategies], ["gitlabUserList", "flexibleRollout"])
    equal("scopes", [s["scopes"][0]["environment_scope"] for s in flag.strategies], ["*", "review/*"])
    refused("the same name", 400, manager.create, {"name": "checkout", "version": "new_version_flag"})
    refused("the former version", 400, manager.create, {"name": "former", "version": "legacy_flag"})
    refused("a percentage", 400, manager.create, {"name": "wrong", "strategies": [{"name": "gradualRolloutUserId", "parameters": {"groupId": "default", "percentage": 101}}]})
    refused("a list in use", 409, friends.delete)
    manager.update("checkout", {"active": False, "strategies": [{"id": flag.strategies[0]["id"], "_destroy": True}]})
    equal("changed", [(f.active, len(f.strategies)) for f in manager.list(scope="disabled", get_all=True)], [(False, 1)])
    manager.update("checkout", {"name": "payment"})
    equal("renamed", manager.get("payment").name, "payment")
    manager.delete("payment")
    refused("a flag that was deleted", 404, manager.get, "payment")
    friends.delete()
    equal("lists at last", lists.list(get_all=True), [])


def freezes(project):
    manager = FreezePeriods(root, parent=project)
    made = manager.create({"freeze_start": "0 23 * * 5", "freeze_end": "0 7 * * 1", "cron_timezone": "Europe/Berlin"})
    made.freeze_end = "0 8 * * 1"
    made.save()
    equal("freeze period", (manager.get(made.id).freeze_end, manager.get(made.id).cron_timezone), ("0 8 * * 1", "Europe/Berlin"))
    equal("time zone", manager.create({"freeze_start": "0 1 1 1 *", "freeze_end": "0 2 1 1 *"}).cron_timezone, "UTC")
    equal("list", [f.freeze_start for f in manager.list(get_all=True)], ["0 23 * * 5", "0 1 1 1 *"])
    refused("no cron", 400, manager.create, {"freeze_start": "soon", "freeze_end": "0 7 * * 1"})
    made.delete()
    refused("a freeze period that was deleted", 404, manager.get, made.id)


group = root.groups.create({"name": "Team", "path": "team"})
project = root.projects.create({"name": "Shop", "namespace_id": group.id, "initialize_with_readme": True})
environments(project)
protected(project, group)
deployments(project)
releases(project)
flags(project)
freezes(project)
print("all delivered as it should")
