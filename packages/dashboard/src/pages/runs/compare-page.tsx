import { PageTitle } from '../../components/page-title.js';

export default function ComparePage() {
  return <PageTitle title="Compare runs" />;
}
