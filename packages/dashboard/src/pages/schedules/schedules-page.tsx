import { PageTitle } from '../../components/page-title.js';

export default function SchedulesPage() {
  return <PageTitle title="Schedules" />;
}
