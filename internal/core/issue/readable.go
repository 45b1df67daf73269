package issue

import "tenon/internal/core/authz"

// ReadableSQL is a condition that holds where the actor may read the issue whose id stands
// in column. The names of tables in it must not hide the one in column: i, p, n.
func (s *Service) ReadableSQL(as authz.Actor, column string) (cond string, args []any) {
	sc := s.within(as, Place{}, Filter{})
	sc.where.Raw("i.id = " + column)
	return "EXISTS (SELECT 1 FROM " + sc.from + sc.where.SQL() + ")", sc.where.Args()
}
