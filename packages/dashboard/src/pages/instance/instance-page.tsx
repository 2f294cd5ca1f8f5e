import { PageTitle } from '../../components/page-title.js';

export default function InstancePage() {
  return <PageTitle title="Instance" />;
}
