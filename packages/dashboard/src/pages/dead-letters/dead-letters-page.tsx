import { PageTitle } from '../../components/page-title.js';

export default function DeadLettersPage() {
  return <PageTitle title="Dead letters" />;
}
