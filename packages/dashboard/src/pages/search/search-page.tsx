import { PageTitle } from '../../components/page-title.js';

export default function SearchPage() {
  return <PageTitle title="Search indexes" />;
}
