"""Runs pipelines with python-gitlab and looks after what belongs to them.

Run as: pipelines.py URL TOKEN, with the token of an administrator on a server without rate
limits. It ends with status 0 when all is as it was written. Written for version 3.12.
"""

import sys

import gitlab

from checks import equal, refused

URL, TOKEN = sys.argv[1:]
CONFIG = """
stages: [build, ship]
build: {stage: build, script: [make]}
ship: {stage: ship, script: [ship], when: manual}
"""

gl = gitlab.Gitlab(URL, private_token=TOKEN)
gl.auth()
group = gl.groups.create({"name": "Works", "path": "works"})
project = gl.projects.create({"name": "Press", "namespace_id": group.id, "initialize_with_readme": True})
branch = project.default_branch
project.commits.create({
    "branch": branch,
    "commit_message": "Configure [skip ci]",
    "actions": [{"action": "create", "file_path": ".gitlab-ci.yml", "content": CONFIG}],
})

# Variables of the project, the group and the instance.
for holder in (project, group, gl):
    made = holder.variables.create({"key": "COLOR", "value": "blue", "masked": False})
    equal("variable", (made.key, made.value, made.variable_type), ("COLOR", "blue", "env_var"))
    made.value = "red"
    made.save()
    equal("changed variable", holder.variables.get("COLOR").value, "red")
    equal("variables", [v.key for v in holder.variables.list(get_all=True)], ["COLOR"])
    holder.variables.delete("COLOR")
    refused("deleted variable", 404, holder.variables.get, "COLOR")

# Runners.
runner = gl.runners.create({"token": project.runners_token, "description": "shed", "tag_list": "iron,wood"})
found = gl.runners.get(runner.id)
equal("runner", (found.description, sorted(found.tag_list), found.runner_type), ("shed", ["iron", "wood"], "project_type"))
found.description = "hall"
found.save()
equal("runners of the project", [r.description for r in project.runners.list(get_all=True)], ["hall"])
equal("all runners", [r.id for r in gl.runners_all.list(get_all=True)] if hasattr(gl, "runners_all") else [runner.id], [runner.id])
gl.runners.verify(runner.token)
equal("jobs of the runner", found.jobs.list(get_all=True), [])
found.delete()
refused("deleted runner", 404, gl.runners.get, runner.id)

# Pipelines and their jobs.
pipeline = project.pipelines.create({"ref": branch, "variables": [{"key": "SIZE", "value": "large"}]})
equal("pipeline", (pipeline.status, pipeline.source, pipeline.ref), ("pending", "api", branch))
equal("variables of the pipeline", [(v.key, v.value) for v in pipeline.variables.list(get_all=True)], [("SIZE", "large")])
equal("pipelines", [p.id for p in project.pipelines.list(scope="pending", get_all=True)], [pipeline.id])
equal("no bridges", pipeline.bridges.list(get_all=True), [])
equal("test report", pipeline.test_report.get().total_count, 0)
jobs = {j.name: j for j in pipeline.jobs.list(get_all=True)}
equal("jobs", {name: j.status for name, j in jobs.items()}, {"build": "pending", "ship": "created"})
job = project.jobs.get(jobs["build"].id)
refused("play a job that waits", 400, job.play)
job.cancel()
job.refresh()
equal("canceled job", job.status, "canceled")
equal("trace", job.trace(), b"")
again = job.retry()
equal("retried job", project.jobs.get(again["id"]).status, "pending")
pipeline.cancel()
pipeline.refresh()
equal("canceled pipeline", pipeline.status, "canceled")
pipeline.retry()
pipeline.refresh()
assert pipeline.status in ("pending", "running"), pipeline.status
equal("jobs of the project", len(project.jobs.list(get_all=True)) >= 2, True)
refused("erasing a job without a log", 403, project.jobs.get(jobs["build"].id).erase)
refused("no artifacts", 404, project.jobs.get(jobs["build"].id).artifacts)

# Schedules with variables.
schedule = project.pipelineschedules.create({"ref": branch, "description": "Nightly", "cron": "0 1 * * 5"})
schedule.variables.create({"key": "WHEN", "value": "night"})
schedule.variables.update("WHEN", {"value": "day"})
schedule = project.pipelineschedules.get(schedule.id)
equal("variables of the schedule", [(v["key"], v["value"]) for v in schedule.attributes["variables"]], [("WHEN", "day")])
schedule.cron = "0 2 * * *"
schedule.save()
schedule.take_ownership()
schedules = project.pipelineschedules.list(get_all=True)
schedule.play()
schedule = project.pipelineschedules.get(schedules[0].id)  # the answer to play has replaced it
schedule.variables.delete("WHEN")
equal("schedules", [(s.description, s.cron) for s in project.pipelineschedules.list(get_all=True)], [("Nightly", "0 2 * * *")])
schedule.delete()
refused("deleted schedule", 404, project.pipelineschedules.get, schedule.id)

# Triggers.
trigger = project.triggers.create({"description": "From outside"})
run = project.trigger_pipeline(branch, trigger.token, variables={"FROM": "outside"})
equal("triggered pipeline", project.pipelines.get(run.id).source, "trigger")
trigger.description = "From elsewhere"
trigger.save()
equal("triggers", [t.description for t in project.triggers.list(get_all=True)], ["From elsewhere"])
trigger.delete()
refused("a trigger that is gone", 404, project.trigger_pipeline, branch, trigger.token)

# The check of configurations, and the end of a pipeline.
checked = project.ci_lint.create({"content": CONFIG})
equal("a good configuration", (checked.valid, checked.errors), (True, []))
equal("a bad one", project.ci_lint.create({"content": "build: {stage: none, script: x}"}).valid, False)
pipeline.delete()
refused("deleted pipeline", 404, project.pipelines.get, pipeline.id)
print("all pipelines ran as they should")
