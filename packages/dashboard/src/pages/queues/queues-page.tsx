import { PageTitle } from '../../components/page-title.js';

export default function QueuesPage() {
  return <PageTitle title="Queues & messages" />;
}
