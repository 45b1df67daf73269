// Starts GraphiQL. Its requests go to this server alone, with the session of the browser or the
// headers that its user gives; subscriptions come as streams of events.
(function () {
  "use strict";

  const endpoint = "/api/graphql";
  const token = document.querySelector('meta[name="csrf-token"]');

  // operation finds the kind of the operation that runs.
  function operation(params, options) {
    const operations = ((options && options.documentAST && options.documentAST.definitions) || []).filter(
      (d) => d.kind === "OperationDefinition" && (!params.operationName || (d.name && d.name.value === params.operationName)),
    );
    return operations.length > 0 ? operations[0].operation : "query";
  }

  function send(params, options, accept) {
    const headers = Object.assign({ "Content-Type": "application/json", Accept: accept }, options && options.headers);
    if (token) {
      headers["X-CSRF-Token"] = token.content;
    }
    return fetch(endpoint, { method: "POST", headers: headers, credentials: "same-origin", body: JSON.stringify(params) });
  }

  // events gives the answers of a stream one by one.
  async function* events(params, options) {
    const response = await send(params, options, "text/event-stream");
    if (!(response.headers.get("Content-Type") || "").startsWith("text/event-stream")) {
      yield await response.json();
      return;
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    try {
      for (;;) {
        const part = await reader.read();
        if (part.done) {
          return;
        }
        text += part.value;
        for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
          const lines = text.slice(0, end).split("\n");
          text = text.slice(end + 2);
          const value = (name) => (lines.find((line) => line.startsWith(name + ": ")) || "").slice(name.length + 2);
          if (value("event") === "complete") {
            return;
          }
          if (value("event") === "next") {
            yield JSON.parse(value("data"));
          }
        }
      }
    } finally {
      reader.cancel();
    }
  }

  function fetcher(params, options) {
    if (operation(params, options) === "subscription") {
      return events(params, options);
    }
    return send(params, options, "application/json").then((response) => response.json());
  }

  const asked = new URLSearchParams(window.location.search);
  const props = { fetcher: fetcher, shouldPersistHeaders: false };
  for (const name of ["query", "variables", "operationName"]) {
    if (asked.has(name)) {
      props[name] = asked.get(name);
    }
  }
  ReactDOM.createRoot(document.getElementById("graphiql")).render(React.createElement(GraphiQL, props));
})();
