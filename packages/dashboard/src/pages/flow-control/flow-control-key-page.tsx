import { PageTitle } from '../../components/page-title.js';

export default function FlowControlKeyPage() {
  return <PageTitle title="Flow control key" />;
}
