import { PageTitle } from '../../components/page-title.js';

export default function NodesPage() {
  return <PageTitle title="Nodes" />;
}
