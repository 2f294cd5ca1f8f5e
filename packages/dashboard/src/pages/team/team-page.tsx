import { PageTitle } from '../../components/page-title.js';

export default function TeamPage() {
  return <PageTitle title="Team" />;
}
