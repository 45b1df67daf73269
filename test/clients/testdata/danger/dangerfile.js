// What danger-js looks at in a merge request, and says of it.
const { danger, message, warn, markdown, schedule } = require("danger")

message(`new: ${danger.git.created_files}, changed: ${danger.git.modified_files}, commits: ${danger.git.commits.length}`)
message(`${danger.gitlab.mr.title} of ${danger.gitlab.mr.author.username}, approvals: ${danger.gitlab.approvals.approvals_required}`)
if (process.env.TENON_WARN) {
  warn("Say why", "a.js", 2)
}
schedule(async () => {
  const diff = await danger.git.diffForFile("a.js")
  markdown(`added: ${diff.added.split("\n").length}`)
})
