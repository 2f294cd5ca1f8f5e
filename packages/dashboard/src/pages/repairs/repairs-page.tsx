import { PageTitle } from '../../components/page-title.js';

export default function RepairsPage() {
  return <PageTitle title="Repairs" />;
}
