import { PageTitle } from '../../components/page-title.js';

export default function RepairPage() {
  return <PageTitle title="Repair" />;
}
