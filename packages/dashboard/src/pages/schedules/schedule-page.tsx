import { PageTitle } from '../../components/page-title.js';

export default function SchedulePage() {
  return <PageTitle title="Schedule" />;
}
