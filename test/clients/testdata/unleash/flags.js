// Has a project's feature flags read by the Unleash client, as applications in two environments: "node flags.js URL TOKEN", with the token of an
// administrator. The last line that it prints is "ok".
const assert = require("node:assert/strict");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { Unleash } = require("unleash-client");

const [server, token] = process.argv.slice(2);

async function call(method, at, body) {
  const answer = await fetch(`${server}/api/v4/${at}`, {
    method,
    headers: { "PRIVATE-TOKEN": token, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  });
  assert.ok(answer.ok, `${method} ${at}: ${answer.status} ${answer.ok || (await answer.text())}`);
  return answer.status === 204 ? null : answer.json();
}

// Application is the Unleash client of an environment, which asks when it is made to alone.
class Application {
  constructor(url, instanceId, environment) {
    const hour = 3600 * 1000;
    const backupPath = fs.mkdtempSync(path.join(os.tmpdir(), "unleash-"));
    this.unleash = new Unleash({ url, instanceId, appName: environment, refreshInterval: hour, metricsInterval: hour, backupPath });
    this.unleash.setMaxListeners(0); // those of next stay where another event comes first
    this.unleash.on("error", () => {}); // next has it
    this.started = this.next("synchronized", "error");
    this.registered = this.next("registered", "warn");
  }

  // next resolves with the first of the events.
  next(...events) {
    return new Promise((resolve) => {
      for (const event of events) this.unleash.once(event, (value) => resolve(value instanceof Error ? `${event}: ${value.message}` : event));
    });
  }

  async ask() {
    const heard = this.next("changed", "unchanged", "error");
    await this.unleash.repository.fetcher.fetch();
    return heard;
  }

  // on returns for whom each flag is on.
  on(...users) {
    const flags = {};
    for (const { name } of this.unleash.getFeatureToggleDefinitions()) {
      flags[name] = [...users, undefined].filter((userId) => this.unleash.isEnabled(name, { userId })).map((userId) => userId ?? "anyone").join(" ");
    }
    return flags;
  }

  async sendMetrics() {
    const heard = this.next("sent", "warn", "error");
    await this.unleash.metrics.sendMetrics();
    return heard;
  }
}

async function main() {
  const { id } = await call("POST", "projects", { name: "Flags" });
  const at = `projects/${id}`;
  const friends = await call("POST", `${at}/feature_flags_user_lists`, { name: "Friends", user_xids: "ann,ben" });
  const everywhere = [{ environment_scope: "*" }];
  const flags = {
    everyone: [{ name: "default", parameters: {}, scopes: everywhere }],
    some: [{ name: "userWithId", parameters: { userIds: "ann,cleo" }, scopes: everywhere }],
    friends: [{ name: "gitlabUserList", parameters: {}, user_list_id: friends.id, scopes: [{ environment_scope: "review/*" }, { environment_scope: "production" }] }],
    all_users: [{ name: "gradualRolloutUserId", parameters: { groupId: "default", percentage: "100" }, scopes: everywhere }],
    no_user: [{ name: "flexibleRollout", parameters: { groupId: "default", rollout: "0", stickiness: "userId" }, scopes: everywhere }],
    any_context: [{ name: "flexibleRollout", parameters: { groupId: "default", rollout: "100", stickiness: "default" }, scopes: everywhere }],
    two_ways: [
      { name: "userWithId", parameters: { userIds: "ben" }, scopes: [{ environment_scope: "production" }] },
      { name: "default", parameters: {}, scopes: [{ environment_scope: "review/*" }] },
    ],
    staging_only: [{ name: "default", parameters: {}, scopes: [{ environment_scope: "staging" }] }],
  };
  for (const [name, strategies] of Object.entries(flags)) await call("POST", `${at}/feature_flags`, { name, version: "new_version_flag", strategies });
  await call("POST", `${at}/feature_flags`, { name: "disabled", active: false, version: "new_version_flag", strategies: flags.everyone });

  const client = await call("POST", `${at}/feature_flags_client`);
  assert.equal((await call("GET", `${at}/feature_flags_client`)).instance_id_set, true);
  const production = new Application(client.api_url, client.instance_id, "production");
  const review = new Application(client.api_url, client.instance_id, "review/door");
  for (const application of [production, review]) {
    assert.equal(await application.started, "synchronized");
    assert.equal(await application.registered, "registered");
  }
  const users = ["ann", "ben", "cleo"];
  const same = { everyone: "ann ben cleo anyone", some: "ann cleo", friends: "ann ben", all_users: "ann ben cleo", no_user: "", any_context: "ann ben cleo anyone", disabled: "" };
  assert.deepEqual(production.on(...users), { ...same, two_ways: "ben" });
  assert.deepEqual(review.on(...users), { ...same, two_ways: "ann ben cleo anyone" });
  assert.equal(production.unleash.isEnabled("staging_only"), false);
  assert.equal(await production.sendMetrics(), "sent");

  // Without a change the client has all by its ETag, and a change elsewhere in the project does not concern it.
  assert.equal(await production.ask(), "unchanged");
  await call("PUT", `${at}/feature_flags/staging_only`, { description: "For staging" });
  assert.equal(await production.ask(), "unchanged");
  for (const [what, change, flag, want] of [
    ["a user list", () => call("PUT", `${at}/feature_flags_user_lists/${friends.iid}`, { user_xids: "ben,cleo" }), "friends", "ben cleo"],
    ["a flag", () => call("PUT", `${at}/feature_flags/everyone`, { active: false }), "everyone", ""],
    ["another strategy", () => call("PUT", `${at}/feature_flags/some`, { strategies: [{ name: "userWithId", parameters: { userIds: "ben" } }] }), "some", "ann ben cleo"],
    ["another name", () => call("PUT", `${at}/feature_flags/some`, { name: "many" }), "many", "ann ben cleo"],
    ["a flag that was deleted", () => call("DELETE", `${at}/feature_flags/no_user`), "no_user", undefined],
  ]) {
    await change();
    assert.equal(await production.ask(), "changed", what);
    assert.equal(production.on(...users)[flag], want, what);
    assert.equal(await production.ask(), "unchanged", what);
  }

  // With a new secret the former one is refused, and what the client knows stays.
  const renewed = await call("POST", `${at}/feature_flags_client`);
  assert.notEqual(renewed.instance_id, client.instance_id);
  assert.match(await production.ask(), /^error: .*401/);
  assert.equal(production.on(...users).many, "ann ben cleo");
  const after = new Application(renewed.api_url, renewed.instance_id, "production");
  assert.equal(await after.started, "synchronized");
  assert.deepEqual(after.on(...users), production.on(...users));
  await call("DELETE", `${at}/feature_flags_client`);
  assert.match(await after.ask(), /^error: .*401/);
  for (const application of [production, review, after]) application.unleash.destroy();
  console.log("ok");
}

main().then(() => process.exit(0), (e) => {
  console.error(e);
  process.exit(1);
});
