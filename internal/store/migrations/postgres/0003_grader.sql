-- The grader of the verdict that counts: a list says whether its proof is of that grader.
ALTER TABLE episodes ADD COLUMN grader TEXT;
