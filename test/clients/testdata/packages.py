"""Publishes, lists, downloads and deletes packages, and protects them, with python-gitlab and its command line.

Run as: packages.py URL TOKEN, with the token of an administrator. It ends with status 0 when all is as it should be. Written for version 3.12,
the one of Debian 12, which has no classes for protection rules and the pipelines of packages: this script has them, made as the library makes its own.
"""

import contextlib
import functools
import hashlib
import io
import json
import pathlib
import sys
import tempfile
import unittest.mock
import warnings

import gitlab
import gitlab.cli
from gitlab.base import RESTManager, RESTObject
from gitlab.mixins import CreateMixin, DeleteMixin, ListMixin, ObjectDeleteMixin, SaveMixin

from checks import equal, refused

warnings.simplefilter("error")
warnings.simplefilter("ignore", ResourceWarning)
URL, TOKEN = sys.argv[1:]

gitlab.cli._get_parser = functools.cache(gitlab.cli._get_parser)
root = gitlab.Gitlab(URL, private_token=TOKEN)
root.auth()
folder = pathlib.Path(tempfile.mkdtemp())


class Rule(SaveMixin, ObjectDeleteMixin, RESTObject):
    _repr_attr = "package_name_pattern"


class Rules(ListMixin, CreateMixin, DeleteMixin, RESTManager):
    _path = "/projects/{project_id}/packages/protection/rules"
    _obj_cls = Rule
    _from_parent_attrs = {"project_id": "id"}

    def update(self, id, new_data, **kwargs):
        return self.gitlab.http_request("patch", f"{self.path}/{id}", post_data=new_data).json()


class Pipeline(RESTObject):
    pass


class Pipelines(ListMixin, RESTManager):
    _path = "/projects/{project_id}/packages/{package_id}/pipelines"
    _obj_cls = Pipeline
    _from_parent_attrs = {"project_id": "project_id", "package_id": "id"}


def command(*words):
    """Runs the command line in this process, with one parser: making that takes longer than a call."""
    out = io.TextIOWrapper(io.BytesIO(), write_through=True)
    with unittest.mock.patch.object(sys, "argv", ["gitlab", "--server-url", URL, "--private-token", TOKEN, "-o", "json", *map(str, words)]):
        with contextlib.redirect_stdout(out):
            gitlab.cli.main()
    return out.buffer.getvalue()


def listed(*words):
    return json.loads(command(*words))


def file(name, content):
    path = folder / name
    path.write_bytes(content)
    return path


def generic(project):
    content = bytes(range(256)) * 100
    path = file("tool.bin", content)
    made = project.generic_packages.upload(package_name="tool", package_version="1.0.0", file_name="tool.bin", path=path)
    equal("upload", (made.package_name, made.package_version, made.file_name, made.message), ("tool", "1.0.0", "tool.bin", "201 Created"))
    equal("download", project.generic_packages.download("tool", "1.0.0", "tool.bin"), content)
    parts = []
    project.generic_packages.download("tool", "1.0.0", "tool.bin", streamed=True, action=parts.append)
    equal("streamed", b"".join(parts), content)
    equal("iterated", b"".join(project.generic_packages.download("tool", "1.0.0", "tool.bin", iterator=True)), content)
    refused("a file that is not there", 404, project.generic_packages.download, "tool", "1.0.0", "none.bin")
    refused("a version that is none", 400, project.generic_packages.upload, "tool", "a b", "tool.bin", path)
    project.generic_packages.upload("tool", "1.0.0", "other.bin", file("other.bin", b"other"))
    project.generic_packages.upload("tool", "1.1.0", "tool.bin", path)


def lists(project, group):
    def names(found):
        return [(p.name, p.version) for p in found]

    equal("by version", names(project.packages.list(order_by="version", sort="desc", get_all=True)), [("tool", "1.1.0"), ("tool", "1.0.0")])
    equal("by name", names(project.packages.list(package_name="too", package_type="generic", get_all=True)), [("tool", "1.0.0"), ("tool", "1.1.0")])
    equal("of another type", project.packages.list(package_type="npm", get_all=True), [])
    equal("page", names(project.packages.list(per_page=1, page=2)), [("tool", "1.1.0")])
    equal("all pages", len(list(project.packages.list(per_page=1, iterator=True))), 2)
    equal("of the group", {p.project_path for p in group.packages.list(get_all=True)}, {project.path_with_namespace})
    equal("without subgroups", len(group.packages.list(exclude_subgroups=True, get_all=True)), 2)
    first = project.packages.list(order_by="version", get_all=True)[0]
    one = project.packages.get(first.id)
    equal("one", (one.name, one.version, one.package_type, one.status), ("tool", "1.0.0", "generic", "default"))
    equal("its versions", [v["version"] for v in one.versions], ["1.1.0"])
    equal("its pipelines", Pipelines(root, parent=one).list(get_all=True), [])
    files = one.package_files.list(get_all=True)
    equal("its files", sorted(f.file_name for f in files), ["other.bin", "tool.bin"])
    tool = next(f for f in files if f.file_name == "tool.bin")
    content = (folder / "tool.bin").read_bytes()
    equal("digests", (tool.file_sha256, tool.file_sha1, tool.file_md5, tool.size), (
        hashlib.sha256(content).hexdigest(), hashlib.sha1(content).hexdigest(), hashlib.md5(content).hexdigest(), len(content)))
    next(f for f in files if f.file_name == "other.bin").delete()
    one.package_files.delete(tool.id)
    equal("no files", one.package_files.list(get_all=True), [])
    refused("a file twice", 404, one.package_files.delete, tool.id)
    one.delete()
    refused("a package that was deleted", 404, project.packages.get, one.id)
    equal("after it was deleted", names(project.packages.list(get_all=True)), [("tool", "1.1.0")])
    project.packages.delete(project.packages.list(get_all=True)[0].id)
    equal("none", project.packages.list(get_all=True), [])


def rules(project):
    manager = Rules(root, parent=project)
    made = manager.create({"package_name_pattern": "core-*", "package_type": "generic", "minimum_access_level_for_push": "owner"})
    equal("rule", (made.package_name_pattern, made.package_type, made.minimum_access_level_for_push, made.minimum_access_level_for_delete), ("core-*", "generic", "owner", None))
    made.minimum_access_level_for_delete = "admin"
    made.save()
    equal("rules", [(r.package_name_pattern, r.minimum_access_level_for_delete) for r in manager.list(get_all=True)], [("core-*", "admin")])
    refused("the same again", 422, manager.create, {"package_name_pattern": "core-*", "package_type": "generic", "minimum_access_level_for_push": "owner"})

    user = root.users.create({"username": "dev", "name": "Dev", "email": "dev@example.com", "password": "correct horse battery", "skip_confirmation": True})
    project.members.create({"user_id": user.id, "access_level": gitlab.const.AccessLevel.MAINTAINER})
    token = user.personal_access_tokens.create({"name": "t", "scopes": ["api"]}).token
    theirs = gitlab.Gitlab(URL, private_token=token).projects.get(project.id)
    theirs.generic_packages.upload("free", "1.0.0", "tool.bin", folder / "tool.bin")
    text = refused("a protected name", 403, theirs.generic_packages.upload, "core-a", "1.0.0", "tool.bin", folder / "tool.bin")
    assert "Package protected" in text, text
    project.generic_packages.upload("core-a", "1.0.0", "tool.bin", folder / "tool.bin")
    manager.delete(made.id)
    equal("no rules", manager.list(get_all=True), [])
    theirs.generic_packages.upload("core-a", "1.1.0", "tool.bin", folder / "tool.bin")


def commands(project):
    path = file("cli.bin", b"\x00from the command line\xff")
    at = ("--project-id", project.id, "--package-name", "cli", "--package-version", "2.0.0", "--file-name", "cli.bin")
    command("generic-package", "upload", *at, "--path", path)
    equal("download", command("generic-package", "download", *at), path.read_bytes())
    found = [p for p in listed("project-package", "list", "--project-id", project.id, "--package-name", "cli")]
    equal("list", [(p["name"], p["version"]) for p in found], [("cli", "2.0.0")])
    number = found[0]["id"]
    equal("get", listed("project-package", "get", "--project-id", project.id, "--id", number)["version"], "2.0.0")
    files = listed("project-package-file", "list", "--project-id", project.id, "--package-id", number)
    equal("files", [f["file_name"] for f in files], ["cli.bin"])
    command("project-package-file", "delete", "--project-id", project.id, "--package-id", number, "--id", files[0]["id"])
    command("project-package", "delete", "--project-id", project.id, "--id", number)
    equal("after it was deleted", listed("project-package", "list", "--project-id", project.id, "--package-name", "cli"), [])
    equal("of the group", len(listed("group-package", "list", "--group-id", project.namespace["id"], "--package-name", "core")), 2)


group = root.groups.create({"name": "Tools", "path": "tools", "visibility": "private"})
project = root.projects.create({"name": "packages", "namespace_id": group.id})
generic(project)
lists(project, group)
rules(project)
commands(project)
print("all packages as they should")
