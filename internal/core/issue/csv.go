package issue

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/limit"
	"tenon/internal/core/project"
)

// Bounds of CSV files.
const (
	maxExported    = 10_000   // rows
	maxExportBytes = 16 << 20 // after which no further row is written
	maxImported    = 1_000    // rows
	maxImportBytes = 10 << 20
	maxImportCells = 500_000 // which take more memory than what is in them
)

// People returns users by id.
type People interface {
	ByIDs(ctx context.Context, ids []authz.UserID) (map[authz.UserID]*account.Summary, error)
}

// header are the columns of an export.
var header = []string{
	"Title", "Description", "Issue ID", "URL", "State", "Author", "Author Username", "Assignee", "Assignee Username", "Confidential", "Locked",
	"Due Date", "Created At (UTC)", "Updated At (UTC)", "Closed At (UTC)", "Weight", "Labels", "Time Estimate", "Time Spent",
}

// Export writes the issues of a project that a filter selects and the actor may read as CSV,
// the newest first, at most 10,000 of them and 16 MiB. It requires ReadIssue.
func (s *Service) Export(ctx context.Context, as authz.Actor, p *project.Project, f Filter, people People, to io.Writer) error {
	if err := s.Policy.Require(ctx, as, authz.ReadIssue, p.Subject()); err != nil {
		return err
	}
	if err := s.Limits.CheckSearch(as, f.Search); err != nil {
		return err
	}
	out := &counter{to: to}
	w := csv.NewWriter(out)
	if err := w.Write(header); err != nil {
		return fmt.Errorf("export issues: %w", err)
	}
	f.OrderBy, f.Asc, f.Range = "", false, page.Range{Limit: 100, Keyset: true}
	for rows := 0; rows < maxExported; {
		list, err := s.list(ctx, as, p.Place(), f)
		if err != nil {
			return fmt.Errorf("export issues: %w", err)
		}
		if err := s.exportPage(ctx, w, out, p, people, list.Items); err != nil {
			return fmt.Errorf("export issues: %w", err)
		}
		rows += len(list.Items)
		if f.Cursor = list.Next(); f.Cursor == "" || out.n > maxExportBytes {
			return nil
		}
	}
	return nil
}

// counter counts what is written.
type counter struct {
	to io.Writer
	n  int
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += n
	return n, err
}

func (s *Service) exportPage(ctx context.Context, w *csv.Writer, out *counter, p *project.Project, people People, issues []Issue) error {
	var ids []authz.UserID
	for i := range issues {
		ids = append(append(ids, issues[i].AuthorID), issues[i].Assignees...)
	}
	users, err := people.ByIDs(ctx, ids)
	if err != nil {
		return err
	}
	for i := range issues {
		if err := w.Write(s.exported(&issues[i], p, users)); err != nil {
			return err
		}
		if w.Flush(); w.Error() != nil || out.n > maxExportBytes {
			return w.Error()
		}
	}
	return nil
}

// exported is the row of an issue.
func (s *Service) exported(i *Issue, p *project.Project, users map[authz.UserID]*account.Summary) []string {
	names := func(ids ...authz.UserID) (full, short string) {
		var a, b []string
		for _, id := range ids {
			if u := users[id]; u != nil {
				a, b = append(a, u.Name), append(b, u.Username)
			}
		}
		return strings.Join(a, ", "), strings.Join(b, ", ")
	}
	yes := func(b bool) string {
		if b {
			return "Yes"
		}
		return "No"
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	state, closed, weight, url := "Open", "", "", i.Type.URL(s.URLs, p.FullPath, i.IID)
	if i.State == StateClosed {
		state = "Closed"
	}
	if i.ClosedAt != nil {
		closed = i.ClosedAt.UTC().Format(time.DateTime)
	}
	if i.Weight != nil {
		weight = strconv.FormatInt(*i.Weight, 10)
	}
	author, authorName := names(i.AuthorID)
	assignees, assigneeNames := names(i.Assignees...)
	row := []string{
		i.Title, text(i.Description), strconv.FormatInt(int64(i.IID), 10), url, state, author, authorName, assignees, assigneeNames,
		yes(i.Confidential), yes(i.Locked()), text(i.DueDate), i.CreatedAt.UTC().Format(time.DateTime), i.UpdatedAt.UTC().Format(time.DateTime),
		closed, weight, strings.Join(label.Titles(i.Labels), ","), strconv.FormatInt(i.Estimate, 10), strconv.FormatInt(i.Spent, 10),
	}
	for n := range row {
		row[n] = cell(row[n])
	}
	return row
}

// cell makes a text that no spreadsheet takes for a formula.
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@;|\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}

// Imported says what an import made.
type Imported struct {
	Issues []IID // their numbers, in the order of the file
	Errors []int // lines whose issues break a rule; the others were made
}

// Import makes an issue of each row of a CSV file. Its first line names the columns: title,
// and perhaps description, due_date and weight, in any case; others are ignored. Commas,
// semicolons or tabs separate the cells. It requires CreateIssue, and returns Invalid for a
// file that is no such file or has more than 1,000 rows; then it makes no issue.
func (s *Service) Import(ctx context.Context, as authz.Actor, p *project.Project, from io.Reader) (*Imported, error) {
	if err := s.Policy.Require(ctx, as, authz.ImportIssues, p.Subject()); err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.CreateIssue, p.Subject()); err != nil {
		return nil, err
	}
	if err := s.Limits.Check(limit.IssuesCreate, as); err != nil {
		return nil, err
	}
	inputs, lines, err := parsed(io.LimitReader(from, maxImportBytes+1))
	if err != nil {
		return nil, err
	}
	out := &Imported{Issues: []IID{}, Errors: []int{}}
	for n, in := range inputs {
		i, err := s.open(ctx, as, p, in)
		switch {
		case errs.Is(err, errs.Invalid):
			out.Errors = append(out.Errors, lines[n])
		case err != nil:
			return nil, err
		default:
			out.Issues = append(out.Issues, i.IID)
		}
	}
	return out, nil
}

// parsed reads the rows of a file, and the line that each begins at.
func parsed(from io.Reader) (inputs []Input, lines []int, err error) {
	content, err := io.ReadAll(from)
	if err != nil {
		return nil, nil, fmt.Errorf("read CSV: %w", err)
	}
	if len(content) > maxImportBytes {
		return nil, nil, errs.New(errs.TooLarge, "")
	}
	text := strings.TrimPrefix(string(content), "\ufeff")
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes = separator(text), -1, true
	if strings.Count(text, string(r.Comma)) > maxImportCells {
		return nil, nil, errs.Plain("The file has more than 500000 cells.")
	}
	bad := errs.Plain("The file is not a CSV file with a column title.")
	names, err := r.Read()
	if err != nil {
		return nil, nil, bad
	}
	column := map[string]int{}
	for n, name := range names {
		name = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(name), " ", "_"))
		if slices.Contains(imported, name) {
			column[name] = n
		}
	}
	if _, ok := column["title"]; !ok {
		return nil, nil, bad
	}
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return inputs, lines, nil
		}
		if err != nil {
			return nil, nil, bad
		}
		if len(inputs) == maxImported {
			return nil, nil, errs.Plain("The file has more than 1000 rows.")
		}
		line, _ := r.FieldPos(0)
		inputs, lines = append(inputs, input(record, column)), append(lines, line)
	}
}

// imported are the columns that an import reads.
var imported = []string{"title", "description", "due_date", "weight"}

// input is the issue of a row.
func input(record []string, column map[string]int) Input {
	value := func(name string) string {
		n, ok := column[name]
		if !ok || n >= len(record) {
			return ""
		}
		return strings.TrimSpace(record[n])
	}
	in := Input{Title: value("title")}
	if text := value("description"); text != "" {
		in.Description = &text
	}
	if due := value("due_date"); due != "" {
		in.DueDate = &due
	}
	if weight, err := strconv.ParseInt(value("weight"), 10, 32); err == nil {
		in.Weight = &weight
	}
	return in
}

// separator is the first of the separators that is in the first line.
func separator(text string) rune {
	first, _, _ := strings.Cut(text, "\n")
	for _, r := range first {
		if r == ',' || r == ';' || r == '\t' {
			return r
		}
	}
	return ','
}
