cat >job.sh <<'END'
#!/bin/sh
#SBATCH --job-name=fit
#SBATCH --cpus-per-task=2 --mem=4G --time=1:00:00
#SBATCH --array=1-3
#SBATCH --output=fit.%A.%a.out
echo "part $SLURM_ARRAY_TASK_ID of $1"
END
