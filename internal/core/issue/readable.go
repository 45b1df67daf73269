package issue

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// ReadableSQL is a condition that holds where the actor may read the issue whose id stands
// in column. The names of tables in it must not hide the one in column: i, p, n.
func (s *Service) ReadableSQL(as authz.Actor, column string) (cond string, args []any) {
	sc := s.within(as, authz.Place{}, Filter{})
	sc.where.Raw("i.id = " + column)
	return "EXISTS (SELECT 1 FROM " + sc.from + sc.where.SQL() + ")", sc.where.Args()
}

// ReadableInSQL is ReadableSQL for issues of a project that the actor has found.
func (s *Service) ReadableInSQL(ctx context.Context, as authz.Actor, p *project.Project, column string) (cond string, args []any, err error) {
	subject := p.Subject()
	may, err := s.Policy.Can(ctx, as, authz.ReadIssue, subject)
	if err != nil || !may {
		return "1 = 0", nil, err
	}
	if authz.SeesConfidential(as, subject) {
		return "1 = 1", nil, nil
	}
	cond, args = authz.ConfidentialSQL(as, subject, "i")
	return "EXISTS (SELECT 1 FROM issues i WHERE i.id = " + column + " AND " + cond + ")", args, nil
}
