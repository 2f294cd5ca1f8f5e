import { PageTitle } from '../../components/page-title.js';

export default function DeadLetterPage() {
  return <PageTitle title="Dead letter" />;
}
