import { PageTitle } from '../../components/page-title.js';

export default function EventsPage() {
  return <PageTitle title="Events" />;
}
