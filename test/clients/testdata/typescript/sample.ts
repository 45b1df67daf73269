// Manages a project with the client that openapi-typescript generates. What it asks of the
// types is the test as much as what it does: it must compile.
import createClient from "openapi-fetch";
import type { components, operations, paths } from "./api.js";

declare const process: { env: Record<string, string | undefined>; exit(code: number): never };

const api = createClient<paths>({
  baseUrl: process.env.TENON_URL + "/api/v4",
  headers: { "PRIVATE-TOKEN": process.env.TENON_TOKEN ?? "" },
});

type Project = components["schemas"]["Project"] | components["schemas"]["ProjectBasic"];
type Failure = components["responses"]["Error"]["content"]["application/json"];

function must<T>(answer: { data?: T; error?: Failure; response: Response }): T {
  if (answer.error !== undefined || answer.data === undefined) {
    throw new Error(`${answer.response.url}: ${answer.response.status} ${JSON.stringify(answer.error)}`);
  }
  return answer.data;
}

function same<T>(what: string, got: T, want: T): void {
  if (JSON.stringify(got) !== JSON.stringify(want)) {
    throw new Error(`${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
  }
}

// The name of an operation is a name of a type.
const filter: operations["getApiV4ProjectsIdIssues"]["parameters"]["query"] = { state: "opened", with_labels_details: true };

async function main(): Promise<void> {
  const project: Project = must(await api.POST("/projects", { body: { name: "Shop", initialize_with_readme: true } }));
  const id = String(project.id);

  must(await api.POST("/projects/{id}/labels", { params: { path: { id } }, body: { name: "bug", color: "#ff0000" } }));
  for (const title of ["One", "Two", "Three"]) {
    const issue = must(await api.POST("/projects/{id}/issues", { params: { path: { id } }, body: { title, labels: ["bug"] } }));
    same("labels of a new issue", issue.labels, ["bug"]);
  }

  const page = await api.GET("/projects/{id}/issues", { params: { path: { id }, query: { ...filter, per_page: 2 } } });
  const titles = must(page).map((issue) => issue.title);
  same("issues of the first page", titles, ["Three", "Two"]);
  same("X-Total", page.response.headers.get("X-Total"), "3");
  const label = must(page)[0]?.labels[0];
  same("label with details", typeof label === "object" ? label.name : label, "bug");

  const missing = await api.GET("/projects/{id}", { params: { path: { id: "none/such" } } });
  same("status of a missing project", missing.response.status, 404);
  same("message of a missing project", missing.error?.message, "404 Project Not Found");

  const refused = await api.POST("/projects/{id}/labels", { params: { path: { id } }, body: { name: "bug", color: "#ff0000" } });
  same("status of a second label", refused.response.status, 409);

  // With a file a request is multipart, without one JSON will do.
  const changed: Project = must(await api.PUT("/projects/{id}", { params: { path: { id } }, body: { description: "Sells things" } }));
  same("description", changed.description, "Sells things");
  same("languages", Object.keys(must(await api.GET("/projects/{id}/languages", { params: { path: { id } } }))), []);
}

main().then(
  () => console.log("ok"),
  (reason: unknown) => {
    console.error(reason);
    process.exit(1);
  },
);
