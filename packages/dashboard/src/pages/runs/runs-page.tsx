import { PageTitle } from '../../components/page-title.js';

export default function RunsPage() {
  return <PageTitle title="Runs" />;
}
