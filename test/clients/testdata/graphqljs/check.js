// Reads the schema of a server in both forms that it has, and compares them: the text, and the answer to the query that tools send.
import {
  buildClientSchema,
  buildSchema,
  getIntrospectionQuery,
  lexicographicSortSchema,
  printSchema,
  validateSchema,
} from "graphql";

const [url, token] = process.argv.slice(2);

async function introspect(headers) {
  const query = getIntrospectionQuery({ inputValueDeprecation: true, schemaDescription: true });
  const answer = await fetch(`${url}/api/graphql`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify({ query }),
  });
  const { data, errors } = await answer.json();
  if (errors) throw new Error(`introspection: ${JSON.stringify(errors)}`);
  return buildClientSchema(data);
}

// checked reads a schema and prints it sorted; what is wrong with it ends the program.
function checked(name, schema) {
  const wrong = validateSchema(schema);
  if (wrong.length > 0) throw new Error(`${name}:\n${wrong.map((e) => e.message).join("\n")}`);
  return printSchema(lexicographicSortSchema(schema));
}

const text = await (await fetch(`${url}/api/graphql/schema`)).text();
const written = checked("text", buildSchema(text));
for (const headers of [{}, { Authorization: `Bearer ${token}` }]) {
  const told = checked("introspection", await introspect(headers));
  const lines = [written.split("\n"), told.split("\n")];
  const at = lines[0].findIndex((line, i) => line !== lines[1][i]);
  if (at >= 0 || lines[0].length !== lines[1].length) {
    throw new Error(`the text says ${lines[0][at]}, introspection ${lines[1][at]} (line ${at})`);
  }
}
console.log(`${written.split("\n").filter((line) => /^(type|interface|enum|input|union|scalar) /.test(line)).length} types, ok`);
