import { PageTitle } from '../../components/page-title.js';

export default function AuditPage() {
  return <PageTitle title="Audit log" />;
}
