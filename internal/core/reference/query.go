package reference

import (
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/project"
)

// ByNumber returns the condition that a row is one that is sought by its number in a project;
// columns are named in SQL. Without any it holds for no row.
func (s Query) ByNumber(projectColumn, numberColumn string) (cond string, args []any) {
	numbers := map[project.ID][]int64{}
	for _, key := range s.Keys {
		if key.Project != 0 && key.Number != 0 {
			numbers[key.Project] = append(numbers[key.Project], key.Number)
		}
	}
	if len(numbers) == 0 {
		return "1 = 0", nil
	}
	var ids []project.ID
	for id := range numbers {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var parts []string
	for _, id := range ids {
		marks, more := db.Marks(numbers[id])
		parts = append(parts, projectColumn+" = ? AND "+numberColumn+" IN ("+marks+")")
		args = append(append(args, id), more...)
	}
	return "(" + strings.Join(parts, " OR ") + ")", args
}
