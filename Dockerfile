# docker build -t bioeval-tui . && docker run --rm -it bioeval-tui demo
# Not tested: there was no base image to build it on. The steps were run by hand.
FROM python:3.12-slim
WORKDIR /src
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY bioeval_tui bioeval_tui
COPY docs docs
COPY sample_jobs sample_jobs
COPY sample_submissions sample_submissions
RUN pip install --no-cache-dir . && rm -rf /src/* \
    && useradd --create-home bioeval && install --directory --owner bioeval --mode 0700 /data
USER bioeval
WORKDIR /home/bioeval
ENV BIOEVAL_DATA_DIR=/data
VOLUME /data
ENTRYPOINT ["bioeval-tui"]
