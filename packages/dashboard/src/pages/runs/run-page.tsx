import { PageTitle } from '../../components/page-title.js';

export default function RunPage() {
  return <PageTitle title="Run" />;
}
