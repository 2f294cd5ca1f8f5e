import { PageTitle } from '../../components/page-title.js';

export default function FlowControlPage() {
  return <PageTitle title="Flow control" />;
}
